package pmap

// Edit gathers many changes to a map at the cost of one. The map it began
// with stays as it was.
type Edit[K, V any] struct {
	now Map[K, V]
	// own tells that now.tree belongs to this Edit alone and may be written.
	own bool
}

// Edit begins a series of changes.
func (m Map[K, V]) Edit() *Edit[K, V] { return &Edit[K, V]{now: m} }

// Done returns the map with all changes so far. Later changes make further
// maps and leave this one alone.
func (e *Edit[K, V]) Done() Map[K, V] {
	e.own = false
	return e.now
}

// Get returns the value that key has by now, and whether it has one.
func (e *Edit[K, V]) Get(key K) (V, bool) { return e.now.Get(key) }

// Has tells whether key is there by now.
func (e *Edit[K, V]) Has(key K) bool { return e.now.Has(key) }

// Len is the number of keys by now.
func (e *Edit[K, V]) Len() int { return e.now.Len() }

// Set gives key a value.
func (e *Edit[K, V]) Set(key K, value V) {
	e.take()
	e.now.tree.set(&entry[K, V]{key, value})
}

// Delete removes key and tells whether it was there.
func (e *Edit[K, V]) Delete(key K) bool {
	if !e.now.Has(key) {
		return false
	}
	e.take()
	probe := e.now.kind.probe(key)
	e.now.tree.delete(probe)
	e.now.kind.release(probe)
	return true
}

// take makes the tree this Edit's own before the first write.
func (e *Edit[K, V]) take() {
	switch {
	case e.own:
		return
	case e.now.tree == nil:
		if e.now.kind == nil {
			panic("pmap: a change to a zero Map")
		}
		e.now.tree = newTree(e.now.kind.less)
	default:
		e.now.tree = e.now.tree.copy()
	}
	e.own = true
}
