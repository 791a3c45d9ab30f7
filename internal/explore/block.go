package explore

import (
	"encoding/binary"
	"iter"
)

// block is a piece of a level, small enough that the processors share a level
// evenly. Each state is its number, its length, and its bytes:
//
//	+--------+--------+-------+--------+--------+---
//	| number | length | bytes | number | length | ...
//	| uint32 | uint32 |       |        |        |
//	+--------+--------+-------+--------+--------+---
type block []byte

const (
	blockSize  = 16 << 10
	stateExtra = 8 // bytes of a block that each state takes beside its own
)

// room is how many bytes are left when a state has been added; an empty block has
// room for any.
func (b block) room(state []byte) int {
	if len(b) == 0 {
		return 0
	}
	return blockSize - len(b) - stateExtra - len(state)
}

func (b block) with(number uint32, state []byte) block {
	if b == nil {
		b = make(block, 0, min(blockSize, 4*(stateExtra+len(state)))) // most levels at the start are small
	}
	b = binary.LittleEndian.AppendUint32(b, number)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(state)))
	return append(b, state...)
}

// states are the numbered states of a block, which aliases them.
func (b block) states() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for len(b) > 0 {
			number, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
			b = b[stateExtra:]
			if !yield(number, b[:size]) {
				return
			}
			b = b[size:]
		}
	}
}
