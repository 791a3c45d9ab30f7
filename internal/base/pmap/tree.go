package pmap

import (
	"slices"

	"github.com/tidwall/btree"
)

// maxFew is how many items lie in one list. It is what a leaf of the b-tree takes,
// so that a list is never dearer to copy than a tree.
const maxFew = 2*degree - 1

// tree holds the items of every map, in order: a few in one list, more in a
// b-tree. Most maps of a cluster's metadata are small: the partitions of a topic,
// the settings of a resource. It holds items of any type, so that it is compiled
// once, here, and not again for each kind of map in each package that looks at
// one: that cost more than all else in a build.
type tree struct {
	less func(a, b any) bool
	few  []any // meaningful while many is nil
	many *btree.BTreeG[any]
}

func newTree(less func(a, b any) bool) *tree { return &tree{less: less} }

// copy gives a tree that shares all items with t until one of them is written.
func (t *tree) copy() *tree {
	if t.many == nil {
		return &tree{less: t.less, few: append(make([]any, 0, len(t.few)+1), t.few...)}
	}
	// IsoCopy also marks the tree it copies from, which others may be copying at
	// this moment: let it mark a private header.
	header := *t.many
	return &tree{less: t.less, many: header.IsoCopy()}
}

// find is where probe lies in the list, or would.
func (t *tree) find(probe any) (at int, found bool) {
	// What is set comes in order more often than not.
	if n := len(t.few); n == 0 || t.less(t.few[n-1], probe) {
		return n, false
	}
	low, high := 0, len(t.few)-1
	for low < high {
		if mid := (low + high) / 2; t.less(t.few[mid], probe) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, !t.less(probe, t.few[low])
}

func (t *tree) get(probe any) (any, bool) {
	if t.many != nil {
		return t.many.Get(probe)
	}
	at, found := t.find(probe)
	if !found {
		return nil, false
	}
	return t.few[at], true
}

func (t *tree) set(item any) {
	if t.many == nil {
		at, found := t.find(item)
		switch {
		case found:
			t.few[at] = item
			return
		case len(t.few) < maxFew:
			t.few = slices.Insert(t.few, at, item)
			return
		}
		t.grow()
	}
	t.many.Set(item)
}

// grow moves the items from the list to a b-tree.
func (t *tree) grow() {
	t.many = btree.NewBTreeGOptions(t.less, btree.Options{Degree: degree, NoLocks: true})
	for _, item := range t.few {
		t.many.Load(item)
	}
	t.few = nil
}

func (t *tree) delete(probe any) {
	if t.many != nil {
		t.many.Delete(probe)
		return
	}
	if at, found := t.find(probe); found {
		t.few = slices.Delete(t.few, at, at+1)
	}
}

func (t *tree) len() int {
	if t.many != nil {
		return t.many.Len()
	}
	return len(t.few)
}

func (t *tree) last() (any, bool) {
	switch {
	case t.many != nil:
		return t.many.Max()
	case len(t.few) == 0:
		return nil, false
	}
	return t.few[len(t.few)-1], true
}

func (t *tree) scan(visit func(any) bool) {
	if t.many != nil {
		t.many.Scan(visit)
		return
	}
	t.visit(0, visit)
}

func (t *tree) scanFrom(probe any, visit func(any) bool) {
	if t.many != nil {
		t.many.Ascend(probe, visit)
		return
	}
	at, _ := t.find(probe)
	t.visit(at, visit)
}

// visit walks the list.
func (t *tree) visit(from int, visit func(any) bool) {
	for _, item := range t.few[from:] {
		if !visit(item) {
			return
		}
	}
}
