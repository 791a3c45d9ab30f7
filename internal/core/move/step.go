package move

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Facts are what is known of a move at one moment. The future replica is the copy
// that is made in the target directory, the current one serves in the source.
type Facts struct {
	Source, Target kafka.DirID
	// Named is the directory of the replica in committed metadata.
	Named kafka.DirID
	// Level: the future replica ends where the current one does.
	Level bool
	// Told: the controller was told of the target. Pending: it has not answered yet.
	Told, Pending bool
	// Since is how long ago it was told.
	Since time.Duration
}

// Act is what a move needs next.
type Act uint8

// The acts, in the order of a move that meets no trouble.
const (
	CatchUp Act = iota // the future replica lacks records
	Tell               // the controller is to be told of the target
	Await              // its answer, or the metadata that holds it, is on the way
	Switch             // the future replica takes the place of the current one
)

// patience is how long metadata may take to show what the controller has answered.
// Then something else has taken the assignment back, and it is told again.
const patience = 10 * time.Second

// Next says what a move needs.
//
// The controller is not told before the future replica has all records: were the
// source to fail first, it would take the replica for a good one. And the replicas
// are not switched before metadata names the target: were the target to fail first,
// the controller would not know whom that concerns. A start that finds metadata at
// the target goes on from there.
func Next(f Facts) Act {
	switch {
	case !f.Level:
		return CatchUp
	case f.Named == f.Target && !f.Pending:
		return Switch
	case !f.Told, !f.Pending && f.Since > patience:
		return Tell
	}
	return Await
}

// Silent tells whether the controller need not be told that the replica lies in the
// source, where metadata or a report under way says something else: the move
// makes it true, or takes it back, see Undo.
func Silent(f Facts) bool { return f.Told || f.Named == f.Target }

// Undo tells whether a move that ends without the switch has to assign the replica
// back to its source: the controller believes, or may yet, that it is at the target.
func Undo(f Facts) bool { return f.Source != f.Target && (f.Told || f.Named == f.Target) }
