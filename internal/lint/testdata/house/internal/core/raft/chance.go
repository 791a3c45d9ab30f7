package raft

import (
	old "math/rand"
	dice "math/rand/v2"
	_ "runtime/debug"
)

// Chance comes from sources that the whole process shares.
func Chance() []any {
	return []any{
		dice.Uint32N(3), dice.UintN(3), dice.Uint64N(3), dice.NormFloat64(), dice.ExpFloat64(), dice.Float32(),
		dice.Int32(), dice.N(3), dice.Perm, old.Uint32(),
	}
}

// Seeded draws as it should be done.
func Seeded() int { return dice.New(dice.NewPCG(1, 2)).IntN(3) }
