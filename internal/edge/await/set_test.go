package await

import "testing"

// setRig is a set, and a thing with two lists that its watches may stand in.
type setRig struct {
	set   Set
	lists [2]List
	pokes int
}

func (r *setRig) fire(list int) {
	PokeAll(r.lists[list].AppendTo(nil))
}

func (r *setRig) parked() *Parked {
	p := &Parked{}
	p.Init(NewTimers(), func() bool { r.pokes++; return false }, func(Outcome) {})
	return p
}

// A watch of a set fires once, whoever is parked, and not again before it is added
// again.
func TestASetCollectsWhatMoved(t *testing.T) {
	var r setRig
	a, b := &Watch{Set: &r.set, Of: "a"}, &Watch{Set: &r.set, Of: "b"}
	r.lists[0].Add(a)
	r.lists[1].Add(b)
	r.fire(0)
	r.fire(0)
	if got := r.set.Take(nil); len(got) != 1 || got[0].Of != "a" || !r.lists[0].Empty() || r.lists[1].Len() != 1 {
		t.Errorf("%d moved", len(got))
	}
	r.lists[0].Add(a)
	p := r.parked()
	r.set.Attend(p)
	r.fire(0)
	r.fire(1)
	if r.pokes != 2 {
		t.Errorf("poked %d times by two things", r.pokes)
	}
	if got := r.set.Take(nil); len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("%d moved", len(got))
	}
	r.set.Attend(nil)
	r.lists[0].Add(a)
	r.fire(0)
	p.Cancel()
	r.set.Attend(p)
	r.lists[1].Add(b)
	r.fire(1)
	if got := r.set.Take(nil); len(got) != 2 || r.pokes != 2 {
		t.Errorf("%d moved, poked %d times", len(got), r.pokes)
	}
}

// Firing and collecting again and again allocates nothing.
func TestASetAllocatesNothing(t *testing.T) {
	var r setRig
	w := &Watch{Set: &r.set}
	var spare []*Watch
	var woken []*Parked
	r.set.Attend(r.parked())
	cycle := func() {
		r.lists[0].Add(w)
		woken = r.lists[0].AppendTo(woken[:0])
		spare = r.set.Take(spare)
	}
	for range 3 {
		cycle()
	}
	if n := testing.AllocsPerRun(1000, cycle); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
