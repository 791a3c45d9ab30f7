package pmap

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func content[K comparable, V any](m Map[K, V]) map[K]V { return maps.Collect(m.All()) }

func TestAMapBehavesAsABuiltInMapAndOldVersionsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			got  Map[int, string]
			want map[int]string
		}
		history := []version{{Ordered[int, string](), map[int]string{}}}
		keys := rapid.IntRange(0, 200)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := history[rapid.IntRange(0, len(history)-1).Draw(t, "from")]
			next := version{want: maps.Clone(from.want)}
			switch rapid.IntRange(0, 2).Draw(t, "act") {
			case 0:
				k, v := keys.Draw(t, "key"), rapid.String().Draw(t, "value")
				next.got = from.got.With(k, v)
				next.want[k] = v
			case 1:
				k := keys.Draw(t, "key")
				next.got = from.got.Without(k)
				delete(next.want, k)
			case 2:
				e := from.got.Edit()
				for _, k := range rapid.SliceOf(keys).Draw(t, "keys") {
					if _, had := next.want[k]; had {
						e.Delete(k)
						delete(next.want, k)
						continue
					}
					e.Set(k, "x")
					next.want[k] = "x"
				}
				next.got = e.Done()
			}
			history = append(history, next)
		}
		for i, v := range history {
			if !maps.Equal(content(v.got), v.want) {
				t.Fatalf("version %d holds %v, want %v", i, content(v.got), v.want)
			}
			if v.got.Len() != len(v.want) {
				t.Fatalf("version %d has length %d, want %d", i, v.got.Len(), len(v.want))
			}
			for k, w := range v.want {
				if g, ok := v.got.Get(k); !ok || g != w {
					t.Fatalf("version %d: key %d is %q %v, want %q", i, k, g, ok, w)
				}
			}
		}
	})
}

func TestWalksAreInOrder(t *testing.T) {
	m := Ordered[int, int]()
	e := m.Edit()
	for i := range 500 {
		e.Set((i*7919)%1000, i)
	}
	m = e.Done()
	keys := slices.Collect(maps.Keys(content(m)))
	slices.Sort(keys)
	var walked []int
	for k := range m.All() {
		walked = append(walked, k)
	}
	if !slices.Equal(walked, keys) {
		t.Error("All does not walk in the order of the keys")
	}
	first := -1
	for k := range m.From(keys[10] + 1) {
		first = k
		break
	}
	if first != keys[11] {
		t.Errorf("From begins at %d, want %d", first, keys[11])
	}
	if k, _, ok := m.Last(); !ok || k != keys[len(keys)-1] {
		t.Errorf("Last is %d, want %d", k, keys[len(keys)-1])
	}
}

func TestAnEditGoesOnAfterDone(t *testing.T) {
	e := Ordered[string, int]().Edit()
	e.Set("a", 1)
	one := e.Done()
	e.Set("b", 2)
	two := e.Done()
	if one.Len() != 1 || two.Len() != 2 {
		t.Errorf("lengths %d and %d, want 1 and 2", one.Len(), two.Len())
	}
	if !one.Same(one.Without("missing")) || one.Same(two) {
		t.Error("Same does not tell versions apart")
	}
}

func TestOneMapMayBeEditedByManyAtOnce(t *testing.T) {
	base := Ordered[int, int]()
	for i := range 100 {
		base = base.With(i, i)
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			m := base.With(g, -1)
			if v, _ := m.Get(g); v != -1 {
				t.Errorf("key %d is %d in its own version", g, v)
			}
		})
	}
	all.Wait()
	for k, v := range base.All() {
		if k != v {
			t.Fatalf("key %d became %d", k, v)
		}
	}
}

func BenchmarkWith(b *testing.B) {
	e := Ordered[int, int]().Edit()
	for i := range 20_000 {
		e.Set(i, i)
	}
	m := e.Done()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		m.With(i%20_000, -1)
		i++
	}
}

// A map that grows past a list, and shrinks again, stays what it is.
func TestAListBecomesATree(t *testing.T) {
	m, want := Ordered[int, int](), map[int]int{}
	for i := range 3 * maxFew {
		key := (i * 37) % (3 * maxFew)
		before := m
		m = m.With(key, i)
		want[key] = i
		if !maps.Equal(content(m), want) || before.Has(key) {
			t.Fatalf("with %d keys it holds %v, want %v", i+1, content(m), want)
		}
	}
	for i := range 3 * maxFew {
		m = m.Without(i)
		delete(want, i)
		if !maps.Equal(content(m), want) || m.Has(i) || m.Len() != len(want) {
			t.Fatalf("without %d it holds %v, want %v", i, content(m), want)
		}
	}
}

// BenchmarkFill is the making of a topic's partitions.
func BenchmarkFill(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		e := Ordered[int, int]().Edit()
		for i := range 10 {
			e.Set(i, i)
		}
		if m := e.Done(); m.Len() != 10 {
			b.Fatal(m.Len())
		}
	}
}
