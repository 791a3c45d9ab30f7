package group

import "iter"

// line is the members of a group in the order in which they came. Taking one
// out costs the same wherever it stands: a request may name all members of a
// large group, and the sessions of all may end in one step.
type line struct {
	first, last *member
	n           int
}

// place is where a member stands.
// Invariant: both are nil while it is in no line.
type place struct{ before, after *member }

// len is the number of members.
func (l *line) len() int { return l.n }

// push puts a member at the end.
func (l *line) push(m *member) {
	m.place = place{before: l.last}
	if l.last == nil {
		l.first = m
	} else {
		l.last.after = m
	}
	l.last = m
	l.n++
}

// remove takes a member out of the line, in which it must be.
func (l *line) remove(m *member) {
	if m.before == nil {
		l.first = m.after
	} else {
		m.before.after = m.after
	}
	if m.after == nil {
		l.last = m.before
	} else {
		m.after.before = m.before
	}
	m.place = place{}
	l.n--
}

// all goes through the line. The member that is being looked at may be removed.
func (l *line) all() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for m := l.first; m != nil; {
			next := m.after
			if !yield(m) {
				return
			}
			m = next
		}
	}
}
