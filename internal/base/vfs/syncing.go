package vfs

import "errors"

// ErrSync is among the causes of every failed sync of a file or a folder: what was
// written before it is unknown from then on, however well the disk answers later.
var ErrSync = errors.New("sync failed")

// syncError marks an error as that of a sync, and reads as before.
type syncError struct{ error }

func (e syncError) Unwrap() []error { return []error{ErrSync, e.error} }

// syncFailed marks what a sync returns.
func syncFailed(err error) error {
	if err == nil {
		return nil
	}
	return syncError{err}
}
