package storage

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// sealed is a log with two segments that are no longer appended to, of six and of two
// batches, and a third one.
func sealed(t testing.TB, change ...func(*Options)) *rig {
	r := newRig(t, append([]func(*Options){func(o *Options) { o.Config.IndexIntervalBytes = 150 }}, change...)...)
	must(t, r.BecomeLeader(1))
	for i := range 6 {
		r.append(plain(string(rune('a'+i)), 1+i%2))
	}
	must(t, r.Roll())
	r.append(plain("x", 1))
	r.append(plain("y", 1))
	must(t, r.Roll())
	r.append(plain("z", 1))
	must(t, r.SyncSealed())
	return r
}

// scrub reads all segments and gives all damage.
func (r *rig) scrub() (found []Damage) {
	r.t.Helper()
	for from := kafka.Offset(0); from != kafka.NoOffset; {
		some, next, err := r.Scrub(from, unhurried)
		must(r.t, err)
		found, from = append(found, some...), next
	}
	return found
}

func unhurried(int) error { return nil }

func (r *rig) bytesOf(base kafka.Offset) (b []byte) {
	r.t.Helper()
	b, err := vfs.ReadFile(r.disk, testDir+"/"+FileName(base, logSuffix), 1<<20)
	must(r.t, err)
	return b
}

func (r *rig) flip(base kafka.Offset, pos int64, bits byte) {
	r.t.Helper()
	r.edit(base, func(f vfs.File, _ int64) error {
		var b [1]byte
		if _, err := f.ReadAt(b[:], pos); err != nil {
			return err
		}
		b[0] ^= bits
		_, err := f.WriteAt(b[:], pos)
		return err
	})
}

// Whichever bit rots, it is found and mended from what another replica holds, byte by
// byte; but for the leader epoch of a batch, of which there is no checksum.
func TestEveryRottenByteIsFoundAndMended(t *testing.T) {
	r := sealed(t)
	whole, want := r.bytesOf(0), r.values(0)
	epochs := map[int64]bool{}
	pos := int64(0)
	for h := range batch.All(whole) {
		for i := range int64(4) {
			epochs[pos+12+i] = true
		}
		pos += int64(h.Size())
	}
	for pos := range int64(len(whole)) {
		for _, bits := range []byte{0x01, 0x80} {
			r.flip(0, pos, bits)
			found := r.scrub()
			if epochs[pos] {
				r.flip(0, pos, bits)
				continue
			}
			if len(found) != 1 {
				t.Fatalf("byte %d: found %+v", pos, found)
			}
			p, err := found[0].Fit(whole, false)
			must(t, err)
			must(t, r.Mend([]Patch{p}, unhurried))
			if got := r.bytesOf(0); !bytes.Equal(got, whole) {
				t.Fatalf("byte %d: mended with %d bytes, not %d, for %+v", pos, len(got), len(whole), found)
			}
			r.clock.now = r.clock.now.Add(2 * time.Minute)
			must(t, r.Tick())
		}
	}
	if found := r.scrub(); found != nil {
		t.Errorf("afterwards still damaged: %+v", found)
	}
	r.wants(0, want)
	r.reopen(false)
	r.wants(0, want)
}

func TestSeveralDamagesAreMendedTogether(t *testing.T) {
	r := sealed(t)
	whole, second, want := r.bytesOf(0), r.bytesOf(9), r.values(0)
	at := int64(len(whole))
	for _, pos := range []int64{70, at - 3} {
		r.flip(0, pos, 0x10)
	}
	r.flip(9, 65, 0x10)
	found := r.scrub()
	if len(found) != 3 || found[0].Segment != 0 || found[1].Segment != 0 || found[2].Segment != 9 {
		t.Fatalf("found %+v", found)
	}
	var patches []Patch
	for _, d := range found[:2] {
		p, err := d.Fit(whole, false)
		must(t, err)
		patches = append(patches, p)
	}
	must(t, r.Mend(patches, unhurried))
	p, err := found[2].Fit(second, false)
	must(t, err)
	must(t, r.Mend([]Patch{p}, unhurried))
	r.reopen(true)
	r.wants(0, want)
}

// A file that has become shorter lacks its end.
func TestALostEndIsMended(t *testing.T) {
	r := sealed(t)
	whole, want := r.bytesOf(0), r.values(0)
	r.edit(0, func(f vfs.File, size int64) error { return f.Truncate(size - 40) })
	found := r.scrub()
	if len(found) != 1 || found[0].To != 9 {
		t.Fatalf("found %+v", found)
	}
	p, err := found[0].Fit(whole, false)
	must(t, err)
	must(t, r.Mend([]Patch{p}, unhurried))
	r.wants(0, want)
}

// A log without damage shows none, compacted or not, with transactions or not.
func TestGoodLogsShowNoDamage(t *testing.T) {
	r := compacted(t)
	must(t, r.BecomeLeader(1))
	r.put(batch.Options{}, "a=1", "b=1")
	r.put(batch.Options{}, "a=2")
	must(t, r.Roll())
	r.put(batch.Options{}, "a=3")
	must(t, r.Roll())
	r.put(batch.Options{}, "a=4")
	r.compact(0)
	if found := r.scrub(); found != nil {
		t.Errorf("found %+v", found)
	}
}

func TestWhatDoesNotFitIsNotTaken(t *testing.T) {
	r := sealed(t)
	whole := r.bytesOf(0)
	d := Damage{From: 1, To: 3, Position: 70, Bytes: 140}
	f := func(what string, d Damage, fetched []byte, gaps bool) {
		t.Helper()
		if _, err := d.Fit(fetched, gaps); !errors.Is(err, ErrNotMended) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("nothing", d, nil, false)
	f("another place", d, r.bytesOf(9), false)
	f("batches that are cut otherwise", Damage{From: 1, To: 2}, whole, false)
	f("batches that begin in the middle", Damage{From: 2, To: 3}, whole, false)
	f("no offsets", Damage{From: 3, To: 3}, whole, true)
	rotten := bytes.Clone(whole)
	rotten[len(rotten)/4] ^= 1
	f("damage there, too", Damage{From: 0, To: 9}, rotten, false)
	if p, err := (Damage{From: 1, To: 3}).Fit(nil, true); err != nil || len(p.Batches) != 0 {
		t.Errorf("where offsets may be missing: %v", err)
	}
}

// What happened to the segment meanwhile wins.
func TestASegmentThatChangedIsLeftAlone(t *testing.T) {
	r := sealed(t)
	whole := r.bytesOf(0)
	r.flip(0, 65, 1)
	found := r.scrub()
	p, err := found[0].Fit(whole, false)
	must(t, err)
	must(t, r.TruncateFullyAndStartAt(20))
	if err := r.Mend([]Patch{p}, unhurried); !errors.Is(err, ErrNotMended) {
		t.Errorf("mended a log that is gone: %v", err)
	}
	stopped := errors.New("stopped")
	r = sealed(t)
	if _, _, err := r.Scrub(0, func(int) error { return stopped }); !errors.Is(err, stopped) {
		t.Errorf("a scrub goes on: %v", err)
	}
	if err := r.Mend([]Patch{p}, func(int) error { return stopped }); !errors.Is(err, ErrNotMended) {
		t.Errorf("a mending goes on: %v", err)
	}
}
