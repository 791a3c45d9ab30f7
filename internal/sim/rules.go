package sim

import (
	"fmt"
	"strings"
)

// Rule is something that has to hold.
type Rule uint8

// The rules of the quorum, by their names.
const (
	R1  Rule = iota // at most one leader in an epoch, over memory and disks of all nodes
	R2              // a node's epoch never falls, also across a restart
	R3              // one vote per epoch and directory, on disk before the answer leaves
	R4              // logs are equal up to the lower of two high watermarks
	R5              // the newest leader holds every committed entry
	R6              // a high watermark never falls and is on a majority's disks
	R7              // the bytes at a committed offset never change
	R8              // nothing committed is truncated
	R9              // role, leader, vote and log ends agree
	R10             // pre-votes leave no trace (see watch)
	R11             // one change of the voters at a time, which reverts when it is cut off
	R12             // a removed leader does not count itself and resigns after the commit
	R13             // only voters elect
	R14             // a snapshot stands for committed records, a log starts at one, and who leads loads none
	R15             // a leader that no majority reaches stops
	R16             // no directory votes twice

	L1 // a repaired quorum has a leader, and keeps it
	L2 // every proposal has an answer
	L3 // every change of the voters has an answer
	L4 // nobody stays prospective
	L7 // all end with the same committed log
	L8 // what was acknowledged reaches everybody

	Protocol  // a step is one that the protocol's text allows, see package abstract
	Startup   // a node starts from what a crash left
	Assertion // the core's own checks
	Busy      // time goes on
	Stuck     // what a scene waits for comes
	Costs     // a scene costs its epochs
	Ruin      // without a majority of disks nothing goes on, and nothing is invented
	P4        // of docs/kip-996.md
	P11
	rules
)

var ruleNames = [rules]string{
	"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "R16",
	"L1", "L2", "L3", "L4", "L7", "L8", "protocol", "start-up", "assertion", "busy", "stuck", "epochs", "ruin", "P4", "P11",
}

func (r Rule) String() string { return ruleNames[r] }

// Checks counts how often each rule was looked at.
type Checks [rules]int

// Add sums two counts.
func (c *Checks) Add(o Checks) {
	for i, n := range o {
		c[i] += n
	}
}

// Sum is how many checks there were.
func (c *Checks) Sum() (n int) {
	for _, one := range c {
		n += one
	}
	return n
}

func (c Checks) String() string {
	var b strings.Builder
	for i, n := range c {
		if n > 0 {
			fmt.Fprintf(&b, " %v=%d", Rule(i), n)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}
