package raftnode

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Kafka's defaults of the metadata log.
const (
	defaultSegmentBytes = 1 << 30
	defaultSegmentAge   = 7 * 24 * time.Hour
)

// openLog opens the log, which must not have a record of an epoch above maxEpoch.
func (c Config) openLog(maxEpoch kafka.Epoch) (Log, error) {
	opt := LogOptions{
		FS: c.FS, Dir: c.Dir, SegmentBytes: c.SegmentBytes, SegmentAge: c.SegmentAge, MaxEpoch: maxEpoch, Promised: c.Controller, Log: c.Log,
	}
	if opt.SegmentBytes == 0 {
		opt.SegmentBytes = defaultSegmentBytes
	}
	if opt.SegmentAge == 0 {
		opt.SegmentAge = defaultSegmentAge
	}
	if c.OpenLog != nil {
		return c.OpenLog(opt)
	}
	return openStorage(opt)
}

// storageLog is a Log on edge/storage.
type storageLog struct {
	*storage.Log
	durable *durableNote
}

// openStorage opens the log. Its own retention is off, only snapshots decide
// what may go (KAFKA-14238). A batch that is bad although it was synced long ago
// is damage that no crash explains: then nothing is repaired and the error says
// where it is. A voter that cut its log there would lose what was committed.
func openStorage(opt LogOptions) (Log, error) {
	note, err := readDurable(opt.FS, opt.Dir)
	if err != nil {
		return nil, err
	}
	found, err := inspect(opt.FS, opt.Dir, opt.MaxEpoch)
	if err != nil {
		return nil, err
	}
	note.recut(found.epochs)
	if err := found.refuse(note, opt.Promised); err != nil {
		return nil, err
	}
	opt.tell(note)
	boot, err := storage.ReadBoot(opt.FS, opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("reading the boot of the metadata log: %w", err)
	}
	cfg := config.DefaultLogConfig()
	cfg.SegmentBytes, cfg.SegmentMs = opt.SegmentBytes, opt.SegmentAge.Milliseconds()
	cfg.RetentionMs, cfg.RetentionBytes = -1, -1
	cfg.MaxMessageBytes = maxSnapshotBatch
	log, err := storage.Open(storage.Options{
		FS: opt.FS, Dir: opt.Dir, TP: kafka.MetadataPartition, TopicID: kafka.MetadataTopicID, Config: cfg,
		RecoveryPoint: note.below, SameBoot: boot.Same && found.damage == nil, Gapless: true, Logger: opt.Log,
		OnError: opt.failed,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the metadata log: %w", err)
	}
	note.segment = log.ActiveSegment()
	err = note.settle(log)
	if err == nil && !boot.Same {
		if err = storage.RecordBoot(opt.FS, opt.Dir); err != nil {
			err = fmt.Errorf("noting the boot of the metadata log: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, log.Close(false), note.mark.close())
	}
	return storageLog{log, note}, nil
}

// tell warns of notes of how far the log is durable that cannot be relied on.
func (o LogOptions) tell(n *durableNote) {
	switch {
	case o.Log == nil:
	case n.foreign:
		o.Log.Warn("the metadata log was cut below what was durable, by a process that does not note it, and goes on in a later epoch; what is there is used",
			"dir", o.Dir, "durable", n.found.below, "epoch", n.found.epoch, "cut", n.below)
	case n.unread != nil:
		o.Log.Warn("the mark of how far the metadata log is durable cannot be read, and is written anew; damage at the end of the log, above the offset, would have been taken for the torn end of a crash",
			"file", n.mark.name, "offset", n.below, "err", n.unread)
	}
}

// failed takes back the note of the boot: what the system kept in memory need
// not be what a process that starts now would read.
func (o LogOptions) failed(error) {
	if err := storage.ForgetBoot(o.FS, o.Dir); err != nil && o.Log != nil {
		o.Log.Warn("the note of the boot stays behind a failure", "dir", o.Dir, "err", err)
	}
}

func (l storageLog) Append(batches []byte) error {
	// The core has cut what a leader sent at the epoch that it follows.
	_, err := l.AppendFollower(batches, math.MaxInt32)
	return err
}

func (l storageLog) Read(dst []byte, from, below kafka.Offset, maxBytes int) ([]byte, error) {
	slice, err := l.Log.Read(from, maxBytes, below, true)
	if err != nil {
		return dst, err
	}
	defer slice.Close()
	begin := len(dst)
	if dst, err = slice.AppendTo(dst); err != nil {
		return dst, err
	}
	whole := begin
	for _, b := range batch.All(dst[begin:]) {
		whole += len(b)
	}
	return dst[:whole], nil
}

func (l storageLog) TruncateTo(end kafka.Offset) error {
	if err := l.durable.cutting(end); err != nil {
		return err
	}
	return l.Log.TruncateTo(end)
}

func (l storageLog) StartAt(offset kafka.Offset) error {
	if err := l.durable.cutting(0); err != nil {
		return err
	}
	return l.TruncateFullyAndStartAt(offset)
}

func (l storageLog) DropBelow(start kafka.Offset) error {
	if err := l.SetStart(start); err != nil {
		return err
	}
	_, err := l.DeleteOld(start)
	return err
}

func (l storageLog) Sync() (kafka.Offset, error) {
	end, err := l.Log.Sync()
	if err != nil {
		return end, err
	}
	return end, l.durable.synced(l.Log)
}

func (l storageLog) Tick() error {
	if err := l.Log.Tick(); err != nil {
		return err
	}
	return l.durable.raise(l.Log)
}

func (l storageLog) Close() error {
	err := l.Log.Close(true)
	if err == nil {
		err = l.durable.raise(l.Log)
	}
	return errors.Join(err, l.durable.mark.close())
}
