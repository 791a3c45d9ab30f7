package storage

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// model is what a log holds, as a slice.
type model struct {
	first  kafka.Offset // of values
	values []string
	start  kafka.Offset
}

func (m *model) end() kafka.Offset { return m.first + kafka.Offset(len(m.values)) }

func (m *model) from(o kafka.Offset) []string {
	var out []string
	for i := max(o, m.first); i < m.end(); i++ {
		out = append(out, fmt.Sprintf("%d=%s", i, m.values[i-m.first]))
	}
	return out
}

// Whatever is done to a log, it reads as a slice would.
func TestALogIsASlice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, func(o *Options) {
			o.Config.IndexIntervalBytes = rapid.IntRange(0, 300).Draw(rt, "interval")
			o.Config.SegmentBytes = rapid.IntRange(200, 2000).Draw(rt, "segment")
		})
		var m model
		boundaries := []kafka.Offset{0} // where a batch begins
		names := 0
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				n := rapid.IntRange(1, 4).Draw(rt, "records")
				name := fmt.Sprint("v", names)
				names++
				a := r.append(records(name, n, 1000, batch.Options{Codec: batch.Codec(rapid.IntRange(0, 4).Draw(rt, "codec"))}))
				if a.Base != m.end() {
					rt.Fatalf("appended at %d, want %d", a.Base, m.end())
				}
				for i := range n {
					m.values = append(m.values, fmt.Sprintf("%s-%d", name, i))
				}
				boundaries = append(boundaries, m.end())
			},
			"roll": func(*rapid.T) { must(t, r.Roll()) },
			"sync": func(rt *rapid.T) {
				end, err := r.Sync()
				must(t, err)
				if end != m.end() {
					rt.Fatalf("synced to %d, want %d", end, m.end())
				}
			},
			"truncate": func(rt *rapid.T) {
				i := rapid.IntRange(0, len(boundaries)-1).Draw(rt, "batch")
				to := boundaries[i]
				if to < m.start {
					return
				}
				must(t, r.TruncateTo(to))
				boundaries = boundaries[:i+1]
				m.values = m.values[:to-m.first]
			},
			"start": func(rt *rapid.T) {
				to := kafka.Offset(rapid.Int64Range(int64(m.start), int64(m.end())).Draw(rt, "start"))
				must(t, r.SetStart(to))
				m.start = to
				_, err := r.DeleteOld(m.end())
				must(t, err)
			},
			"begin anew": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "rarely") > 0 {
					return
				}
				at := m.end() + kafka.Offset(rapid.IntRange(0, 10).Draw(rt, "ahead"))
				must(t, r.TruncateFullyAndStartAt(at))
				m = model{first: at, start: at}
				boundaries = []kafka.Offset{at}
			},
			"stop": func(*rapid.T) { r.reopen(true) },
			"kill": func(*rapid.T) { r.reopen(false) },
			"": func(rt *rapid.T) {
				if r.Start() != m.start || r.End() != m.end() {
					rt.Fatalf("the log is [%d, %d), want [%d, %d)", r.Start(), r.End(), m.start, m.end())
				}
				from := kafka.Offset(rapid.Int64Range(int64(m.start), int64(m.end())).Draw(rt, "from"))
				if got, want := valuesOf(t, r.Log, from), m.from(from); !slices.Equal(got, want) {
					rt.Fatalf("from %d the log holds %v, want %v", from, got, want)
				}
			},
		})
	})
}

// Readers, a writer, syncs, retention and compaction run beside each other.
func TestReadersBesideAWriter(t *testing.T) {
	r := compacted(t, func(o *Options) { o.Config.SegmentBytes, o.Config.IndexIntervalBytes = 2000, 100 })
	const appends = 400
	var working sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		working.Go(func() {
			var d batch.Decoder
			for from := kafka.Offset(0); from < appends; {
				s, err := r.Read(from, 500, r.End(), true)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := s.AppendTo(nil)
				s.Close()
				if err != nil {
					t.Error(err)
					return
				}
				for h, bytes := range batch.All(b) {
					for rec, err := range d.Records(bytes) {
						if err != nil || string(rec.Value) != fmt.Sprintf("v%d-0", rec.Offset) {
							t.Errorf("offset %d holds %q, %v", rec.Offset, rec.Value, err)
							return
						}
					}
					from = h.End()
				}
			}
		})
	}
	working.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if _, err := r.Sync(); err != nil {
				t.Error(err)
			}
			if d, err := r.Dirt(0, r.End(), never); err != nil {
				t.Error(err)
			} else if c := (Compactor{KeyBytes: 1 << 16}); d.To > 0 {
				if _, err := c.Compact(r.Log, d); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range appends {
		b := batch.NewBuilder(batch.Options{})
		b.Add(1, fmt.Append(nil, "key", i), fmt.Appendf(nil, "v%d-0", i))
		if _, err := r.AppendLeader(b.Build(nil), 1); err != nil {
			t.Error(err)
		}
	}
	close(done)
	working.Wait()
	must(t, r.Close(true))
}

// A partition is deleted while it is read, synced and compacted: none of those
// takes that for a failure of the disk.
func TestADeletionBesideOtherWork(t *testing.T) {
	for round := range 30 {
		var failed []error
		r := compacted(t, func(o *Options) {
			o.OnError = func(err error) { failed = append(failed, err) }
		})
		for i := range 20 {
			r.put(batch.Options{}, fmt.Sprint("k", i%3, "=", i))
			must(t, r.Roll())
		}
		var working sync.WaitGroup
		work := func(do func() error) {
			working.Go(func() {
				for i := 0; i < 1000; i++ {
					if err := do(); err != nil && !errors.Is(err, ErrClosed) {
						t.Error(err)
						return
					} else if err != nil {
						return
					}
				}
			})
		}
		work(func() error {
			s, err := r.Read(0, 1<<20, r.End(), true)
			s.Close()
			return err
		})
		work(r.Tick)
		work(func() error {
			_, err := r.Sync()
			return err
		})
		c := Compactor{KeyBytes: 1 << 16}
		work(func() error {
			d, err := r.Dirt(0, r.End(), never)
			if err == nil {
				_, err = c.Compact(r.Log, d)
			}
			return err
		})
		for range round {
			runtime.Gosched()
		}
		gone := testDir + "-gone"
		must(t, r.Rename(gone))
		must(t, r.Close(false))
		must(t, r.disk.RemoveAll(gone))
		working.Wait()
		if len(failed) > 0 {
			t.Fatalf("round %d: the disk counts as failed: %v", round, failed)
		}
	}
}
