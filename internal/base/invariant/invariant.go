package invariant

import "fmt"

// Broken is what a broken invariant panics with.
type Broken struct{ Text string }

func (b Broken) Error() string { return "invariant broken: " + b.Text }

// Check panics with a Broken unless ok holds. The text names the values that
// are at odds.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic(Broken{fmt.Sprintf(format, args...)})
	}
}

// Costly runs a check that is too slow for production. It runs only in
// binaries built with the tag "invariants", such as tests and the simulator.
func Costly(check func()) {
	if costly {
		check()
	}
}

// Sometimes notes that a situation worth testing has come up. Binaries built
// with the tag "invariants" count it by name, so that a simulation can tell
// which situations it never reached; others do nothing.
func Sometimes(situation bool, name string) {
	if situation && costly {
		count(name)
	}
}
