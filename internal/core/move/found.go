package move

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Copy is a copy of a replica that a start has found in a directory.
type Copy struct {
	Dir    kafka.DirID
	Future bool // of a move that was not finished
	// Foreign: it belongs to another topic of the same name, or says of none.
	Foreign bool
	End     kafka.Offset
}

// Fate is what becomes of a copy.
type Fate uint8

// The fates.
const (
	Leave   Fate = iota // it stays as it is, and is not used
	Serve               // it is the replica
	Promote             // it becomes the replica: the move ends here
	Resume              // its move goes on
	Stray               // it is set aside, for people to look at
	Discard             // it is removed: the replica that serves has all of it
)

// Ground is what a start knows of a replica beside its copies.
type Ground struct {
	Named      kafka.DirID // its directory in metadata
	AnyOffline bool        // a configured directory does not work
}

// Settle says what becomes of each copy of a replica that a start has found. At most
// one serves or is promoted, and the move of at most one goes on.
//
// The copy in the directory that metadata names counts. A crash between the two
// renames of a switch leaves a second one in the source, which is set aside. A future
// replica that metadata names takes over after it has caught up with the source, and
// at once where there is no source any more: it had all records when the controller
// was told. Where metadata names none of several copies, nobody guesses.
func Settle(g Ground, found []Copy) []Fate {
	fates := make([]Fate, len(found))
	for i, c := range found {
		if c.Foreign {
			fates[i] = Stray
		}
	}
	serves := serving(g, found)
	if serves < 0 {
		if plain(found) == 0 {
			promote(g, found, fates)
		}
		return fates
	}
	fates[serves] = Serve
	future := best(g, found, func(c Copy) bool { return c.Future && c.Dir != found[serves].Dir })
	for i, c := range found {
		switch {
		case c.Foreign || i == serves:
		case !c.Future:
			fates[i] = Stray
		case i == future:
			fates[i] = Resume
		default:
			fates[i] = Discard
		}
	}
	return fates
}

// serving is the plain copy that counts, -1 where there is none or it is not known.
func serving(g Ground, found []Copy) int {
	if plain(found) == 1 {
		return slices.IndexFunc(found, func(c Copy) bool { return !c.Future && !c.Foreign })
	}
	return slices.IndexFunc(found, func(c Copy) bool { return !c.Future && !c.Foreign && c.Dir == g.Named })
}

func plain(found []Copy) (n int) {
	for _, c := range found {
		if !c.Future && !c.Foreign {
			n++
		}
	}
	return n
}

// promote chooses among future replicas where none is left that they were made from.
// While a directory does not work, the one may lie there: then only that counts which
// metadata names.
func promote(g Ground, found []Copy, fates []Fate) {
	chosen := best(g, found, func(c Copy) bool { return c.Future && (!g.AnyOffline || c.Dir == g.Named) })
	if chosen < 0 {
		return
	}
	for i, c := range found {
		if !c.Foreign {
			fates[i] = Discard
		}
	}
	fates[chosen] = Promote
}

// best is the copy that metadata names, of those that are wanted, or the longest one;
// -1 when there is none.
func best(g Ground, found []Copy, wanted func(Copy) bool) int {
	at := -1
	for i, c := range found {
		if c.Foreign || !wanted(c) {
			continue
		}
		if at < 0 || c.Dir == g.Named || found[at].Dir != g.Named && c.End > found[at].End {
			at = i
		}
	}
	return at
}
