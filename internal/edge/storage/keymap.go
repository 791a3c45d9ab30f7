package storage

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ottla/ottla/internal/base/kafka"
)

// keyMap remembers the newest offset of each key. Keys are kept as 16 bytes of
// their hash, so that a map costs 24 bytes a key however long the keys are; the
// hash is one for which nobody can make two keys that meet.
type keyMap struct {
	slots []keySlot // a power of two, open addressing
	used  int
	most  int // keys it takes
}

type keySlot struct {
	hash [16]byte
	next kafka.Offset // offset + 1; 0 is an empty slot
}

const (
	keySlotSize = 24
	keyMapLoad  = 0.75 // share of slots that may be used
)

// newKeyMap makes a map for so many keys, or for as many as fit so many bytes.
func newKeyMap(keys int64, maxBytes int64) *keyMap {
	slots := 16
	for float64(slots)*keyMapLoad < float64(keys) && int64(2*slots)*keySlotSize <= maxBytes {
		slots *= 2
	}
	return &keyMap{slots: make([]keySlot, slots), most: int(float64(slots) * keyMapLoad)}
}

// room is how many more keys surely fit.
func (m *keyMap) room() int { return m.most - m.used }

func (m *keyMap) slot(key []byte) *keySlot {
	sum := sha256.Sum256(key)
	hash := [16]byte(sum[:16])
	mask := uint64(len(m.slots) - 1)
	for i := binary.LittleEndian.Uint64(hash[:]) & mask; ; i = (i + 1) & mask {
		s := &m.slots[i]
		if s.next == 0 || s.hash == hash {
			s.hash = hash
			return s
		}
	}
}

// put notes that a key was written at an offset; offsets come in order.
func (m *keyMap) put(key []byte, o kafka.Offset) {
	s := m.slot(key)
	if s.next == 0 {
		m.used++
	}
	s.next = o + 1
}

// newest tells whether no later record has the key.
func (m *keyMap) newest(key []byte, o kafka.Offset) bool { return o >= m.slot(key).next-1 }
