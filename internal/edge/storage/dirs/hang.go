package dirs

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/vfs"
)

// ErrHung is why a directory failed whose disk neither takes a write nor refuses it.
var ErrHung = errors.New("a write to it does not return")

// Bounds of the time between two looks at what the disks do.
const (
	leastLook = 10 * time.Millisecond
	mostLook  = time.Second
)

// probesInLimit is how many probes of a disk that answers fit in the limit.
const probesInLimit = 6

// seenDisk is what a look finds of one directory.
type seenDisk struct {
	waiting bool   // a probe write is under way
	answers uint64 // how many have returned
	// spared: it is never failed, whatever it does.
	spared bool
}

// hangWatch decides which disks hang. It is given what each look found, and reads no
// clock.
//
// Only the time between two looks of which the second was on time counts: a process
// that was paused, or starved, cannot tell how long a disk took. And a disk hangs only
// in comparison: meanwhile another one has answered, so that not all of them wait for
// something else, and the last one that answers is never failed.
type hangWatch struct {
	limit, every time.Duration
	last         time.Duration
	disks        []watchedDisk
}

type watchedDisk struct {
	silent  time.Duration // for how long it has not answered, in time that counts
	answers uint64        // that had returned when it fell silent
	others  []uint64      // those of the others then
}

// look takes what was seen of the directories, in their order, and gives the indices
// of those that hang.
func (w *hangWatch) look(now time.Duration, seen []seenDisk) (hung []int) {
	passed := now - w.last
	w.last = now
	if len(w.disks) != len(seen) {
		w.disks = make([]watchedDisk, len(seen))
	}
	for i, s := range seen {
		disk := &w.disks[i]
		if !s.waiting || s.answers != disk.answers || disk.others == nil {
			*disk = watchedDisk{answers: s.answers, others: answersOf(seen)}
			continue
		}
		if passed <= 2*w.every {
			disk.silent += passed
		}
		if disk.silent >= w.limit && !s.spared && w.anotherAnswered(i, seen) {
			hung = append(hung, i)
		}
	}
	return hung
}

func answersOf(seen []seenDisk) []uint64 {
	all := make([]uint64, len(seen))
	for i, s := range seen {
		all[i] = s.answers
	}
	return all
}

// anotherAnswered tells whether a disk that is not silent itself has answered since one
// fell silent.
func (w *hangWatch) anotherAnswered(silent int, seen []seenDisk) bool {
	for i, s := range seen {
		if i != silent && w.disks[i].silent < w.limit && s.answers > w.disks[silent].others[i] {
			return true
		}
	}
	return false
}

// prober writes to one directory again and again, to see whether its disk answers.
type prober struct {
	begun   bool // owned by who watches
	waiting atomic.Bool
	answers atomic.Uint64
}

// watch looks for disks that hang until done is closed. The directory of the metadata
// log is not failed, as that ends the node: its replicas have to wait.
func (d *Dirs) watch(done <-chan struct{}) {
	limit := d.opt.HangLimit
	if limit <= 0 || len(d.directories()) < 2 {
		return
	}
	w := &hangWatch{limit: limit, every: max(min(limit/20, mostLook), leastLook)}
	began := time.Now()
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		list := d.directories()
		seen := make([]seenDisk, len(list))
		for i, dir := range list {
			if dir.offline() != nil {
				seen[i].spared = true
				continue
			}
			if p := &dir.prober; !p.begun {
				p.begun = true
				go d.keepProbing(dir, limit/probesInLimit, done)
			}
			seen[i] = seenDisk{dir.prober.waiting.Load(), dir.prober.answers.Load(), d.holdsMetadata(dir)}
		}
		for _, i := range w.look(time.Since(began), seen) {
			d.fail(list[i], ErrHung)
		}
	}
}

func (d *Dirs) holdsMetadata(dir *directory) bool {
	return filepath.Clean(dir.path) == filepath.Clean(d.claimed.Metadata.Path)
}

// keepProbing ends with the directory, or when done is closed; in a write that hangs, once
// that returns.
func (d *Dirs) keepProbing(dir *directory, every time.Duration, done <-chan struct{}) {
	pause := time.NewTicker(max(every, leastLook))
	defer pause.Stop()
	for dir.offline() == nil {
		dir.prober.waiting.Store(true)
		err := d.overwrite(filepath.Join(dir.path, probeFile))
		dir.prober.answers.Add(1)
		dir.prober.waiting.Store(false)
		if err != nil && !errors.Is(err, vfs.ErrNoSpace) { // what lies on a full disk can be read
			d.failOrWait(dir, err)
		}
		select {
		case <-done:
			_ = d.fs.Remove(filepath.Join(dir.path, probeFile)) // it is in nobody's way
			return
		case <-dir.fell:
			return
		case <-pause.C:
		}
	}
}

// overwrite writes a few bytes over the old ones, and syncs them.
func (d *Dirs) overwrite(name string) error {
	f, err := d.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("ottla\n"), 0); err != nil {
		return err
	}
	return f.Sync()
}

// unlessItHangs does something with a directory, and gives up waiting for it when the
// directory fails meanwhile.
func (dir *directory) unlessItHangs(do func(*directory) error) error {
	done := make(chan error, 1)
	go func() { done <- do(dir) }()
	select {
	case err := <-done:
		return err
	case <-dir.fell:
		return nil
	}
}
