package raftnode

import (
	"fmt"
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

func (c Config) openLog() (Log, error) {
	opt := LogOptions{FS: c.FS, Dir: c.Dir, SegmentBytes: c.SegmentBytes, SegmentAge: c.SegmentAge}
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
type storageLog struct{ *storage.Log }

// openStorage opens the log as after a crash: every batch is validated. Its own
// retention is off, only snapshots decide what may go (KAFKA-14238).
func openStorage(opt LogOptions) (Log, error) {
	cfg := config.DefaultLogConfig()
	cfg.SegmentBytes, cfg.SegmentMs = opt.SegmentBytes, opt.SegmentAge.Milliseconds()
	cfg.RetentionMs, cfg.RetentionBytes = -1, -1
	cfg.MaxMessageBytes = maxSnapshotBatch
	log, err := storage.Open(storage.Options{
		FS: opt.FS, Dir: opt.Dir, TP: kafka.MetadataPartition, TopicID: kafka.MetadataTopicID, Config: cfg,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the metadata log: %w", err)
	}
	return storageLog{log}, nil
}

func (l storageLog) Append(batches []byte) error {
	_, err := l.AppendFollower(batches)
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

func (l storageLog) StartAt(offset kafka.Offset) error { return l.TruncateFullyAndStartAt(offset) }

func (l storageLog) DropBelow(start kafka.Offset) error {
	if err := l.SetStart(start); err != nil {
		return err
	}
	_, err := l.DeleteOld(start)
	return err
}

func (l storageLog) Close() error { return l.Log.Close(true) }
