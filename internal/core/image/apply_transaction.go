package image

import (
	"errors"

	"github.com/ottla/ottla/internal/base/metarec"
)

var (
	errInSnapshot = errors.New("a snapshot holds no transactions")
	errNested     = errors.New("a metadata transaction is open already")
	errNotOpen    = errors.New("no metadata transaction is open")
)

// begin opens a metadata transaction: what follows is hidden from readers.
func (a *applier) begin(r *metarec.BeginTransactionRecord) error {
	switch {
	case a.snapshot:
		return errInSnapshot
	case a.next.open != nil:
		return errNested
	}
	before := a.image()
	before.prov.Offset = a.offset - 1
	a.changed = &changes{}
	a.next.open = &transaction{before: before}
	if r.Name != nil {
		a.next.open.name = *r.Name
	}
	return nil
}

// end makes what the transaction wrote readable.
func (a *applier) end() error {
	if err := a.mustBeOpen(); err != nil {
		return err
	}
	a.readable.merge(a.changed)
	a.changed = a.readable
	a.next.open = nil
	return nil
}

// abort goes back to the image before the transaction.
func (a *applier) abort() error {
	if err := a.mustBeOpen(); err != nil {
		return err
	}
	a.changed = a.readable
	a.reset(a.next.open.before)
	return nil
}

func (a *applier) mustBeOpen() error {
	switch {
	case a.snapshot:
		return errInSnapshot
	case a.next.open == nil:
		return errNotOpen
	}
	return nil
}
