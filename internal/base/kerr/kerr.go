// Package kerr holds the errors of the Kafka protocol: their codes, as plain
// values that are errors, and codes with a message for those answers that
// carry one.
package kerr

import (
	"errors"
	"fmt"
)

// Code is an error code of the protocol. None is not an error; a function that
// returns error returns nil instead.
type Code int16

func (c Code) Error() string { return c.String() }

// String is the code's name in Kafka's tables, for example NOT_CONTROLLER.
func (c Code) String() string {
	if i, ok := infos[c]; ok {
		return i.name
	}
	return fmt.Sprintf("UNKNOWN_ERROR_CODE(%d)", int16(c))
}

// Retriable tells whether Kafka's clients try again after this code.
func (c Code) Retriable() bool { return infos[c].retriable }

// Error is a code with a message that names the thing it is about.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return e.Code.String() + ": " + e.Message }

// Unwrap lets errors.Is find the code.
func (e *Error) Unwrap() error { return e.Code }

// Errorf makes an error of a code and a message.
func Errorf(c Code, format string, args ...any) error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// Of gives the code an error answers with: None for nil, the code it carries,
// else UnknownServerError.
func Of(err error) Code {
	switch c := err.(type) {
	case nil:
		return None
	case Code:
		return c
	}
	return carried(err)
}

// carried stands apart so that the hot path, which has no error, allocates
// nothing.
func carried(err error) Code {
	var c Code
	if errors.As(err, &c) {
		return c
	}
	return UnknownServerError
}

// Message gives the text that goes beside the code, or nil when there is none.
func Message(err error) *string {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && e.Message == "":
		return nil
	case errors.As(err, &e):
		return &e.Message
	}
	text := err.Error()
	return &text
}
