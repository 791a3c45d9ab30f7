package move

import "github.com/ottla/ottla/internal/base/kafka"

// Era says at which offset the records of a leader epoch begin.
type Era struct {
	Epoch kafka.Epoch
	Start kafka.Offset
}

// History is a log's leader epochs, in order, and where it ends.
type History struct {
	Eras []Era
	End  kafka.Offset
}

// Agreed is the offset up to which a future replica holds the same records as the
// current one: records of the same leader epoch and offset are the same. It is that
// of the newest epoch that both know; 0 when they know none together, and the copy is
// made anew.
func Agreed(current, future History) kafka.Offset {
	for i := len(future.Eras) - 1; i >= 0; i-- {
		ends, known := current.endOf(future.Eras[i].Epoch)
		if known && ends > future.Eras[i].Start {
			return min(ends, future.end(i))
		}
	}
	return 0
}

func (h History) end(i int) kafka.Offset {
	if i+1 < len(h.Eras) {
		return h.Eras[i+1].Start
	}
	return h.End
}

func (h History) endOf(epoch kafka.Epoch) (kafka.Offset, bool) {
	for i, e := range h.Eras {
		if e.Epoch == epoch {
			return h.end(i), true
		}
	}
	return 0, false
}
