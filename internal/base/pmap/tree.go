package pmap

import "github.com/tidwall/btree"

// tree is the b-tree behind every map. It holds items of any type, so that it
// is compiled once, here, and not again for each kind of map in each package
// that looks at one: that cost more than all else in a build.
type tree struct {
	items btree.BTreeG[any]
}

func newTree(less func(a, b any) bool) *tree {
	return &tree{*btree.NewBTreeGOptions(less, btree.Options{Degree: degree, NoLocks: true})}
}

// copy gives a tree that shares all nodes with t until one of them is written.
func (t *tree) copy() *tree {
	// IsoCopy also marks the tree it copies from, which others may be copying at
	// this moment: let it mark a private header.
	header := t.items
	return &tree{*header.IsoCopy()}
}

func (t *tree) get(probe any) (any, bool) { return t.items.Get(probe) }

func (t *tree) set(item any) { t.items.Set(item) }

func (t *tree) delete(probe any) { t.items.Delete(probe) }

func (t *tree) len() int { return t.items.Len() }

func (t *tree) last() (any, bool) { return t.items.Max() }

func (t *tree) scan(visit func(any) bool) { t.items.Scan(visit) }

func (t *tree) scanFrom(probe any, visit func(any) bool) { t.items.Ascend(probe, visit) }
