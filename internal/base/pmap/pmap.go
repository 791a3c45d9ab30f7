// Package pmap is an ordered map as a value. Changing a map gives another map;
// the old one stays as it was, and both share what they have in common. It is
// a thin face on a copy-on-write b-tree.
//
// A Map may be read by any number of goroutines. An Edit belongs to one.
package pmap

import (
	"cmp"
	"iter"
	"sync"
)

// degree of the tree's nodes: small enough that copying a path for one change
// stays cheap, large enough that a lookup touches few nodes.
const degree = 16

// Map is an immutable map in the order of its keys. Make one with Ordered or
// By; the zero Map is empty and can only be read.
type Map[K, V any] struct {
	kind *kind[K, V]
	// tree is never written once a Map holds it; nil means empty. Its items are
	// of type *entry[K, V] and never change.
	tree *tree
}

type entry[K, V any] struct {
	key   K
	value V
}

// kind is what all versions of a map share.
type kind[K, V any] struct {
	less func(a, b any) bool
	// probes are entries to look up with, so that looking up allocates nothing.
	probes sync.Pool
}

func (k *kind[K, V]) probe(key K) *entry[K, V] {
	p, ok := k.probes.Get().(*entry[K, V])
	if !ok {
		p = new(entry[K, V])
	}
	p.key = key
	return p
}

func (k *kind[K, V]) release(p *entry[K, V]) {
	*p = entry[K, V]{}
	k.probes.Put(p)
}

// Ordered makes an empty map over keys that Go can order.
// A floating-point key may not be NaN.
func Ordered[K cmp.Ordered, V any]() Map[K, V] {
	return Map[K, V]{kind: &kind[K, V]{less: func(a, b any) bool {
		return a.(*entry[K, V]).key < b.(*entry[K, V]).key
	}}}
}

// By makes an empty map whose keys are ordered by compare, which returns a
// negative number, zero or a positive number as cmp.Compare does.
func By[K, V any](compare func(a, b K) int) Map[K, V] {
	return Map[K, V]{kind: &kind[K, V]{less: func(a, b any) bool {
		return compare(a.(*entry[K, V]).key, b.(*entry[K, V]).key) < 0
	}}}
}

// Len is the number of keys.
func (m Map[K, V]) Len() int {
	if m.tree == nil {
		return 0
	}
	return m.tree.len()
}

// Get returns the value of a key, and whether the map has it.
func (m Map[K, V]) Get(key K) (value V, ok bool) {
	if m.tree == nil {
		return value, false
	}
	probe := m.kind.probe(key)
	item, ok := m.tree.get(probe)
	m.kind.release(probe)
	if ok {
		value = item.(*entry[K, V]).value
	}
	return value, ok
}

// Has tells whether the map has a key.
func (m Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// All walks the map in the order of its keys.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m.tree != nil {
			m.tree.scan(visitor(yield))
		}
	}
}

// From walks the map from the first key that is not below start.
func (m Map[K, V]) From(start K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m.tree != nil {
			m.tree.scanFrom(&entry[K, V]{key: start}, visitor(yield))
		}
	}
}

func visitor[K, V any](yield func(K, V) bool) func(any) bool {
	return func(item any) bool {
		e := item.(*entry[K, V])
		return yield(e.key, e.value)
	}
}

// Last returns the greatest key and its value, and whether there is one.
func (m Map[K, V]) Last() (key K, value V, ok bool) {
	if m.tree == nil {
		return key, value, false
	}
	item, ok := m.tree.last()
	if !ok {
		return key, value, false
	}
	e := item.(*entry[K, V])
	return e.key, e.value, true
}

// Same tells whether two maps are one and the same version. Maps of equal
// content that were built apart are not the same.
func (m Map[K, V]) Same(o Map[K, V]) bool { return m.tree == o.tree }

// With returns a map that also has key, at value.
func (m Map[K, V]) With(key K, value V) Map[K, V] {
	e := m.Edit()
	e.Set(key, value)
	return e.Done()
}

// Without returns a map that does not have key.
func (m Map[K, V]) Without(key K) Map[K, V] {
	if !m.Has(key) {
		return m
	}
	e := m.Edit()
	e.Delete(key)
	return e.Done()
}
