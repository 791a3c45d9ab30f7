package main

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Bounds of --timeout: requests carry it as a number of milliseconds in 32 bits.
const (
	minTimeout = time.Millisecond
	maxTimeout = math.MaxInt32 * time.Millisecond
)

// patientFor is a duration as a flag, which is checked when it is read: a
// command that has one need not think of times that cannot be.
type patientFor time.Duration

// Set reads the flag's value, in Go's form.
func (p *patientFor) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("it is not a time such as 500ms, 15s or 2m")
	case d < minTimeout || d > maxTimeout:
		return fmt.Errorf("it must be from %v to %v", minTimeout, maxTimeout)
	}
	*p = patientFor(d)
	return nil
}

// String is the value as the help shows it.
func (p *patientFor) String() string { return time.Duration(*p).String() }

// Type names the kind of value in the help.
func (p *patientFor) Type() string { return "duration" }
