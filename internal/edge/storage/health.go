package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

// ErrFailed says that an earlier write or sync of the log failed. Its unsynced
// bytes are unknown, so it stays failed until it is opened again.
var ErrFailed = kerr.Errorf(kerr.KafkaStorageError, "an earlier write to this log failed")

// ErrClosed says that the log was closed meanwhile: its partition was deleted or
// moved, or the node stops. That is no failure of the disk.
var ErrClosed = kerr.Errorf(kerr.KafkaStorageError, "the log is closed")

// health remembers the first write or sync that failed. It is final: the bytes
// that were not synced are unknown from then on.
type health struct {
	tp      kafka.TopicPartition // for messages
	onError func(error)
	failure atomic.Pointer[error]
	closed  atomic.Bool
}

// Err is what made the log fail, or nil.
func (h *health) Err() error {
	if p := h.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// Fail makes the log refuse every change from now on, as when its directory has
// failed elsewhere. OnError is not called.
func (h *health) Fail(err error) {
	wrapped := fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
	h.failure.CompareAndSwap(nil, &wrapped)
}

// fail notes the first write or sync that failed; it gives an error that
// answers with KAFKA_STORAGE_ERROR.
func (h *health) fail(doing string, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrFailed), errors.Is(err, ErrClosed):
		return err
	case h.closed.Load(), errors.Is(err, fs.ErrClosed):
		return ErrClosed
	}
	wrapped := fmt.Errorf("%w: %s of %s-%d: %w", kerr.KafkaStorageError, doing, h.tp.Topic, h.tp.Partition, err)
	if h.failure.CompareAndSwap(nil, &wrapped) && h.onError != nil {
		h.onError(wrapped)
	}
	return wrapped
}

// refuse is fail for what can be tried again as nothing is half done: then too
// many open files are no failure of the disk, and only this request is answered
// with KAFKA_STORAGE_ERROR.
func (h *health) refuse(doing string, err error) error {
	if vfs.TooManyFiles(err) && !h.closed.Load() {
		return fmt.Errorf("%w: %s of %s-%d: %w", kerr.KafkaStorageError, doing, h.tp.Topic, h.tp.Partition, err)
	}
	return h.fail(doing, err)
}

// usable refuses changes of a log that failed or is closed.
func (h *health) usable() error {
	switch {
	case h.failure.Load() != nil:
		return ErrFailed
	case h.closed.Load():
		return ErrClosed
	}
	return nil
}

// readError makes a failed read answer with KAFKA_STORAGE_ERROR, or with
// CORRUPT_MESSAGE when what was read is no batch. A disk that cannot be read
// fails the log as one that cannot be written.
func (h *health) readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTorn):
		return kerr.Errorf(kerr.CorruptMessage, "the log of %s-%d holds bytes that are no batch", h.tp.Topic, h.tp.Partition)
	}
	return h.refuse("read", err)
}
