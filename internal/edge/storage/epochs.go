package storage

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/base/kafka"
)

// EpochFile is the name of the epoch history in a partition's folder.
const EpochFile = "leader-epoch-checkpoint"

// EpochStart says at which offset the records of a leader epoch begin.
type EpochStart struct {
	Epoch kafka.Epoch
	Start kafka.Offset
}

// epochs is the history of leader epochs. Both columns strictly increase.
type epochs struct{ list []EpochStart }

// assign notes that an epoch begins at an offset; what contradicts it goes. It
// tells whether anything changed.
func (e *epochs) assign(epoch kafka.Epoch, start kafka.Offset) bool {
	if n := len(e.list); n > 0 {
		last := e.list[n-1]
		if epoch == last.Epoch || epoch < 0 {
			return false
		}
	} else if epoch < 0 {
		return false
	}
	e.list = slices.DeleteFunc(e.list, func(s EpochStart) bool { return s.Epoch >= epoch || s.Start >= start })
	e.list = append(e.list, EpochStart{epoch, start})
	return true
}

func (e *epochs) last() kafka.Epoch {
	if len(e.list) == 0 {
		return kafka.NoEpoch
	}
	return e.list[len(e.list)-1].Epoch
}

// endOf answers OffsetForLeaderEpoch: the largest epoch at or below the one
// asked for and the offset where it ends. NoEpoch and NoOffset mean that the
// log knows nothing of it; an epoch below all known ones ends where they begin.
func (e *epochs) endOf(asked kafka.Epoch, end kafka.Offset) (kafka.Epoch, kafka.Offset) {
	switch n := len(e.list); {
	case n == 0 || asked < 0 || asked > e.list[n-1].Epoch:
		return kafka.NoEpoch, kafka.NoOffset
	case asked == e.list[n-1].Epoch:
		return asked, end
	case asked < e.list[0].Epoch:
		return asked, e.list[0].Start
	}
	i := slices.IndexFunc(e.list, func(s EpochStart) bool { return s.Epoch > asked })
	return e.list[i-1].Epoch, e.list[i].Start
}

// at is the epoch of the record at an offset.
func (e *epochs) at(o kafka.Offset) kafka.Epoch {
	found := kafka.NoEpoch
	for _, s := range e.list {
		if s.Start > o {
			break
		}
		found = s.Epoch
	}
	return found
}

// truncateEnd drops epochs that begin at end or later.
func (e *epochs) truncateEnd(end kafka.Offset) bool {
	n := len(e.list)
	e.list = slices.DeleteFunc(e.list, func(s EpochStart) bool { return s.Start >= end })
	return len(e.list) < n
}

// truncateStart drops epochs that end at start or earlier; the one that holds
// start begins there from now on.
func (e *epochs) truncateStart(start kafka.Offset) bool {
	i := -1
	for j, s := range e.list {
		if s.Start > start {
			break
		}
		i = j
	}
	if i < 0 || i == 0 && e.list[0].Start == start {
		return false
	}
	e.list = slices.Clone(e.list[i:])
	e.list[0].Start = start
	return true
}

func (e *epochs) encode() []byte {
	lines := make([]string, len(e.list))
	for i, s := range e.list {
		lines[i] = strconv.Itoa(int(s.Epoch)) + " " + strconv.FormatInt(int64(s.Start), 10)
	}
	return encodeCheckpoint(lines)
}

// ReadEpochs reads the text of an EpochFile.
func ReadEpochs(b []byte) ([]EpochStart, error) {
	e, err := decodeEpochs(b)
	return e.list, err
}

func decodeEpochs(b []byte) (epochs, error) {
	var e epochs
	err := decodeCheckpoint(b, 2, func(fields []string) error {
		epoch, err := strconv.ParseInt(fields[0], 10, 32)
		if err != nil {
			return err
		}
		start, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return err
		}
		s := EpochStart{kafka.Epoch(epoch), kafka.Offset(start)}
		if n := len(e.list); s.Epoch < 0 || s.Start < 0 || n > 0 && (e.list[n-1].Epoch >= s.Epoch || e.list[n-1].Start >= s.Start) {
			return fmt.Errorf("epoch %d at offset %d does not follow", epoch, start)
		}
		e.list = append(e.list, s)
		return nil
	})
	return e, err
}
