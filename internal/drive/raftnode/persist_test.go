package raftnode

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/base/vfs"
)

// persistSites are all steps of the disk with which a quorum's node makes
// something durable, by name: what is done, and to which file. A step that is not
// in the list, and one of the list that never comes, fail the test below.
var persistSites = strings.Split(strings.TrimSpace(`
create .ottla-boot.tmp
create .ottla-durable
create .ottla-votes-lost.tmp
create download
create leader-epoch-checkpoint.tmp
create partition.metadata.tmp
create producers.tmp
create quorum-state.tmp
create recovery-point-offset-checkpoint.tmp
create segment.index
create segment.log
create segment.timeindex
create snapshot in the making
cut segment.index
cut segment.log
cut segment.timeindex
make folder
remove .ottla-votes-lost
remove producers
remove segment to be deleted
remove segment.index
remove segment.log
remove segment.timeindex
remove segment.txnindex
remove snapshot
remove snapshot in the making
rename .ottla-boot.tmp
rename .ottla-votes-lost.tmp
rename download
rename leader-epoch-checkpoint.tmp
rename partition.metadata.tmp
rename producers.tmp
rename quorum-state.tmp
rename recovery-point-offset-checkpoint.tmp
rename segment.index
rename segment.log
rename segment.timeindex
rename segment.txnindex
rename snapshot
rename snapshot in the making
sync .ottla-boot.tmp
sync .ottla-durable
sync .ottla-votes-lost.tmp
sync download
sync folder above
sync folder of .ottla-votes-lost
sync folder of a snapshot
sync folder of quorum-state
sync folder of the log
sync leader-epoch-checkpoint.tmp
sync partition.metadata
sync producers.tmp
sync quorum-state.tmp
sync recovery-point-offset-checkpoint.tmp
sync segment.index
sync segment.log
sync segment.timeindex
sync snapshot in the making
write .ottla-boot.tmp
write .ottla-durable
write .ottla-votes-lost.tmp
write download
write leader-epoch-checkpoint.tmp
write partition.metadata.tmp
write producers.tmp
write quorum-state.tmp
write recovery-point-offset-checkpoint.tmp
write segment.log
write segment.timeindex
write snapshot in the making
`), "\n")

// tale is a run of a node on a disk, and what has to hold when it is told again on
// what a crash has left.
type tale struct {
	name string
	// run tells it on a disk that fails somewhere, and returns the check.
	run func(t *testing.T, d *persistDisk) (again func(left *vfs.Mem) error)
}

var tales = []tale{{"only voter", tellLone}, {"follower", tellFollower}, {"without its votes", tellForgetful}}

// tellLone: an only voter loses nothing it has committed, and leads a later epoch.
func tellLone(t *testing.T, d *persistDisk) func(left *vfs.Mem) error {
	was := story(t, d, 0)
	return func(left *vfs.Mem) error {
		now := story(t, left, 100)
		switch n := len(was.committed); {
		case now.epoch <= was.epoch:
			return fmt.Errorf("epoch %d after %d: %v", now.epoch, was.epoch, now.refused)
		case len(now.committed) < n+8 || !slices.Equal(now.committed[:n], was.committed):
			return fmt.Errorf("%d records were committed, now there are %d", n, len(now.committed))
		}
		return nil
	}
}

// tellFollower: a follower has what it promised the leader to have, and an epoch
// no lower than it spoke of; then it goes on to the end.
func tellFollower(t *testing.T, d *persistDisk) func(left *vfs.Mem) error {
	s := newScript(t)
	_ = s.follow(t, d) // that it does not start is one way for a disk to fail
	s.mu.Lock()
	promised, spoken, epoch, cleaned := s.promised, s.spoken, s.epoch, s.cleaned
	s.mu.Unlock() // what it asked before it ended may be looked at later still
	return func(left *vfs.Mem) error {
		end, reached, err := held(left)
		switch {
		case err != nil:
			return fmt.Errorf("it does not open: %w", err)
		case end < promised || reached < spoken:
			return fmt.Errorf("it holds %d records and epoch %d, and promised %d and %d", end, reached, promised, spoken)
		}
		next := newScript(t)
		next.epoch, next.cleaned = epoch, cleaned
		if err := next.follow(t, left); err != nil {
			return fmt.Errorf("it does not start: %w", err)
		}
		if end, _, err := held(left); err != nil || end != lastEnd {
			return fmt.Errorf("in the end it holds %d records: %w", end, err)
		}
		return nil
	}
}

// count tells a tale on a disk that works and counts its steps.
func (tl tale) count(t *testing.T) map[string]int {
	t.Helper()
	d := newPersistDisk(vfs.NewMem(), trap{})
	tl.run(t, d)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// traps are those of one tale: at each site, the first, the middle and the last
// time it comes.
func traps(count map[string]int, each func(site string, nth int)) {
	var names []string
	for site := range count {
		names = append(names, site)
	}
	slices.Sort(names)
	for _, site := range names {
		times := []int{1, (count[site] + 1) / 2, count[site]}
		for _, nth := range slices.Compact(times) {
			each(site, nth)
		}
	}
}

// tried is one crash or fault of a tale.
type tried struct {
	tale tale
	trap trap
	left fate
}

// tryAll tells the tales with all traps, on all processors; in short runs, and
// with the race detector, every 9th. It prints how many of their kinds came to pass.
func tryAll(t *testing.T, all []tried) {
	t.Helper()
	some := all
	if testing.Short() || raceDetector {
		some = nil
		for i := 0; i < len(all); i += 9 {
			some = append(some, all[i])
		}
	}
	var work sync.WaitGroup
	var mu sync.Mutex
	next, met := make(chan int), map[string]bool{}
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for i := range next {
				if try(t, some[i], uint64(i)) || try(t, some[i].first(), uint64(i)) {
					mu.Lock()
					met[some[i].kind()] = true
					mu.Unlock()
				}
			}
		})
	}
	for i := range some {
		next <- i
	}
	close(next)
	work.Wait()
	wanted := map[string]bool{}
	for _, x := range some {
		wanted[x.kind()] = true
	}
	t.Logf("ledger: %s: persist site x when x what is left, %d runs | %d of %d (%d %%)",
		t.Name(), len(some), len(met), len(wanted), 100*len(met)/len(wanted))
	for kind := range wanted {
		if !met[kind] {
			t.Errorf("never came: %s", kind)
		}
	}
}

// first is the same at the first time its site comes. How often a site comes is not
// the same in every run, since a sync takes along what arrived meanwhile: the last
// time of one run may never come in another.
func (x tried) first() tried {
	x.trap.nth = 1
	return x
}

// kind is a site with what happens there, whenever it comes.
func (x tried) kind() string {
	x.trap.nth = 0
	return fmt.Sprintf("%s: %v, %s", x.tale.name, x.trap, x.left)
}

// try tells a tale with a trap, and again on what is left. It tells whether the
// trap was met.
func try(t *testing.T, x tried, seed uint64) bool {
	mem := vfs.NewMem()
	d := newPersistDisk(mem, x.trap)
	again := x.tale.run(t, d)
	d.mu.Lock()
	met := d.count[x.trap.site] >= x.trap.nth
	d.mu.Unlock()
	if err := again(x.left.leave(mem, seed)); err != nil {
		t.Errorf("%s, %v, unsynced bytes %s: %v", x.tale.name, x.trap, x.left, err)
	}
	return met
}

// Every step that makes something durable has a name in the list, and comes.
func TestPersistSitesAreListed(t *testing.T) {
	seen := map[string]bool{}
	for _, tl := range tales {
		for site := range tl.count(t) {
			seen[site] = true
		}
	}
	for _, site := range persistSites {
		if !seen[site] {
			t.Errorf("%q never comes", site)
		}
	}
	for site := range seen {
		if !slices.Contains(persistSites, site) {
			t.Errorf("%q is not in the list", site)
		}
	}
	t.Logf("%d sites", len(seen))
}

// A crash before, in or after each of them, with what was not synced lost, torn or
// kept, costs nothing that was committed or promised, and the node starts by
// itself.
func TestACrashAtEveryPersistSite(t *testing.T) {
	var all []tried
	for _, tl := range tales {
		traps(tl.count(t), func(site string, nth int) {
			for _, when := range []moment{before, during, after} {
				for _, left := range fates {
					all = append(all, tried{tl, trap{site: site, nth: nth, when: when}, left})
				}
			}
		})
	}
	tryAll(t, all)
}

// A step that fails, writes half, finds no space or a disk that can only be read,
// or takes long, costs nothing either.
func TestAFaultAtEveryPersistSite(t *testing.T) {
	var all []tried
	for _, tl := range tales {
		traps(tl.count(t), func(site string, nth int) {
			faults := []trap{{err: vfs.ErrIO}, {err: vfs.ErrNoSpace}, {err: syscall.EROFS}, {stall: true}}
			if strings.HasPrefix(site, "write ") {
				faults = append(faults, trap{err: vfs.ErrIO, short: true}, trap{err: vfs.ErrNoSpace, short: true})
			}
			for i, f := range faults {
				f.site, f.nth = site, nth
				all = append(all, tried{tl, f, fates[(i+nth)%len(fates)]})
			}
		})
	}
	slices.SortStableFunc(all, func(a, b tried) int { return cmp.Compare(a.tale.name, b.tale.name) })
	tryAll(t, all)
}
