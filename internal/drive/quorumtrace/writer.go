package quorumtrace

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/core/raft"
)

// Writer writes the steps of one core, a line of JSON each. A process that is
// killed may leave a beginning of its last line; a new one begins with an empty
// line, so that the two do not run together. The first error of the file ends the
// writing, and is kept for Err.
type Writer struct {
	to  io.Writer
	o   Observer
	err error
}

// NewWriter makes a writer that appends to a file. Its methods are called by one
// goroutine, the one that owns the core.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Started writes what a process found on its disk, and its first step.
func (w *Writer) Started(cfg raft.Config, st raft.Stored, s raft.State, e raft.Effects) {
	w.line([]byte("\n"))
	w.write(w.o.Started(cfg, st, s, e))
}

// Stepped writes what the core has made of an event, before any of it is carried
// out.
func (w *Writer) Stepped(ev raft.Event, s raft.State, e raft.Effects) {
	w.write(w.o.Stepped(ev, &s, &e))
}

// Err is why the writing has ended, or nil.
func (w *Writer) Err() error { return w.err }

func (w *Writer) write(st *abstract.Step) {
	if w.err != nil {
		return
	}
	text, err := Line(st)
	if err != nil {
		w.err = err
		return
	}
	w.line(text)
}

// Line is a step as it stands in a trace, with the end of its line.
func Line(st *abstract.Step) ([]byte, error) {
	text, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("writing a step of the quorum: %w", err)
	}
	return append(text, '\n'), nil
}

func (w *Writer) line(text []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.to.Write(text); err != nil {
		w.err = fmt.Errorf("writing a step of the quorum: %w", err)
	}
}
