package coordnode

import (
	"cmp"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// memLog is a Log in memory. It commits at once unless it is told to hold.
type memLog struct {
	mu      sync.Mutex
	logs    map[kafka.PartitionID]*memPart
	held    bool
	refuse  error // for the next appends
	appends int
	max     int
}

type memPart struct {
	epoch   kafka.Epoch
	batches [][]byte
	end, hw kafka.Offset
	waiting []memWait
}

type memWait struct {
	end  kafka.Offset
	done func(error)
}

func newMemLog() *memLog {
	return &memLog{logs: map[kafka.PartitionID]*memPart{}, max: 1 << 20}
}

func (l *memLog) part(p kafka.PartitionID) *memPart {
	if l.logs[p] == nil {
		l.logs[p] = &memPart{}
	}
	return l.logs[p]
}

// elect starts an epoch; what waited in the one before may be lost.
func (l *memLog) elect(p kafka.PartitionID, epoch kafka.Epoch) {
	l.mu.Lock()
	part := l.part(p)
	part.epoch = epoch
	lost := part.waiting
	part.waiting = nil
	l.mu.Unlock()
	for _, w := range lost {
		w.done(kerr.NotLeaderOrFollower)
	}
}

// hold keeps appends uncommitted until commit is called.
func (l *memLog) hold(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = yes
}

func (l *memLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = err
}

// commit moves the high watermark to the end.
func (l *memLog) commit(p kafka.PartitionID) {
	l.mu.Lock()
	part := l.part(p)
	part.hw = part.end
	due := part.waiting
	part.waiting = nil
	l.mu.Unlock()
	for _, w := range due {
		w.done(nil)
	}
}

func (l *memLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appends
}

func (l *memLog) Append(p kafka.PartitionID, epoch kafka.Epoch, b []byte, done func(error)) error {
	l.mu.Lock()
	part := l.part(p)
	h, err := batch.ParseHeader(b)
	switch {
	case err != nil:
	case part.epoch != epoch:
		err = kerr.NotLeaderOrFollower
	case l.refuse != nil:
		err = l.refuse
	case len(b) > l.max || !batch.CheckCRC(b):
		err = kerr.MessageTooLarge
	}
	if err != nil {
		l.mu.Unlock()
		return err
	}
	l.appends++
	own := append([]byte(nil), b...)
	batch.SetBaseOffset(own, part.end)
	part.batches = append(part.batches, own)
	part.end += kafka.Offset(h.LastOffsetDelta) + 1
	held := l.held
	if held {
		part.waiting = append(part.waiting, memWait{part.end, done})
	} else {
		part.hw = part.end
	}
	l.mu.Unlock()
	if !held {
		done(nil)
	}
	return nil
}

func (l *memLog) EndTransaction(p kafka.PartitionID, epoch kafka.Epoch, end batch.EndTxn, _ int16, done func(error)) error {
	return l.Append(p, epoch, batch.AppendEndTxn(nil, end), done)
}

func (l *memLog) Committed(p kafka.PartitionID, epoch kafka.Epoch, end kafka.Offset, done func(error)) {
	l.mu.Lock()
	part := l.part(p)
	if part.hw < end {
		part.waiting = append(part.waiting, memWait{end, done})
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	done(nil)
}

func (l *memLog) Bounds(p kafka.PartitionID, epoch kafka.Epoch) (start, end kafka.Offset, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if part := l.part(p); part.epoch == epoch {
		return 0, part.end, nil
	}
	return 0, 0, kerr.NotLeaderOrFollower
}

func (l *memLog) Read(p kafka.PartitionID, epoch kafka.Epoch, from kafka.Offset, maxBytes int, dst []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	part := l.part(p)
	if part.epoch != epoch {
		return dst, kerr.NotLeaderOrFollower
	}
	end := func(b []byte) kafka.Offset {
		h, err := batch.ParseHeader(b)
		if err != nil {
			panic(err) // it was read when it was appended
		}
		return h.End()
	}
	first, _ := slices.BinarySearchFunc(part.batches, from+1, func(b []byte, at kafka.Offset) int { return cmp.Compare(end(b), at) })
	for _, b := range part.batches[first:] {
		if end(b) > part.hw || len(dst) > 0 && len(dst)+len(b) > maxBytes {
			break
		}
		dst = append(dst, b...)
	}
	return dst, nil
}

func (l *memLog) MaxBatch(kafka.PartitionID) int { return l.max }
