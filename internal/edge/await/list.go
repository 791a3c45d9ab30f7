package await

// List holds what waits for one thing, for example a partition. It belongs to
// that thing and is guarded by its lock. The zero List is empty.
type List struct {
	first *Watch
	n     int
}

// Watch is one place in a List. It is embedded in what waits, one for each
// thing it waits for.
type Watch struct {
	// Parked is who waits, for a watch of a single wait. It stays in its list.
	Parked *Parked
	// Set collects the watch, instead, and takes it out of its list when it fires.
	Set *Set
	// Of is what the owner of the set knows the watched thing by.
	Of any

	list       *List
	prev, next *Watch
}

// Add puts a watch into the list. It stands in one list at a time.
func (l *List) Add(w *Watch) {
	if w.list != nil {
		w.list.Remove(w)
	}
	w.list, w.next = l, l.first
	if l.first != nil {
		l.first.prev = w
	}
	l.first = w
	l.n++
}

// Remove takes a watch out; one that is not in the list is left alone.
func (l *List) Remove(w *Watch) {
	if w.list != l {
		return
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.list, w.prev, w.next = nil, nil, nil
	l.n--
}

// AppendTo appends what waits to dst, for the caller to poke once it has given
// up its lock, and drops what waits no more. dst is used again from one batch
// to the next, so that firing allocates nothing.
func (l *List) AppendTo(dst []*Parked) []*Parked {
	for w := l.first; w != nil; {
		next := w.next
		switch {
		case w.Set != nil:
			l.Remove(w)
			dst = w.Set.fire(w, dst)
		case w.Parked.Finished():
			l.Remove(w)
		default:
			dst = append(dst, w.Parked)
		}
		w = next
	}
	return dst
}

// PokeAll pokes all of a list that AppendTo made.
func PokeAll(list []*Parked) {
	for _, p := range list {
		p.Poke()
	}
}

// Empty tells whether nobody waits.
func (l *List) Empty() bool { return l.first == nil }

// Len counts the watches, including those that have finished and were not
// dropped yet.
func (l *List) Len() int { return l.n }
