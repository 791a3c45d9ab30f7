package dirmove_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// tale is a move under load on a disk that stops at some step.
type tale struct {
	*broker
	disk   *vfs.Mem
	acked  []string
	flying string // an append that nobody was told of
	start  kafka.Offset
	raised kafka.Offset // the start that a deletion under way may have made
	err    error
}

func (s *tale) do(f func() error) {
	if s.err == nil {
		s.err = f()
	}
}

func (s *tale) produce(n int) {
	for range n {
		s.do(func() error {
			s.flying = fmt.Sprintf("%d=v%d", len(s.acked), len(s.acked))
			err := s.append(fmt.Sprint("v", len(s.acked)))
			if err == nil {
				s.acked, s.flying = append(s.acked, s.flying), ""
			}
			return err
		})
	}
}

func (s *tale) trim(o kafka.Offset) {
	s.do(func() error {
		s.raised = o
		_, err := s.part().DeleteBefore(o)
		if err == nil {
			s.start = o
		}
		return err
	})
}

func (s *tale) moveTo(dir kafka.DirID) {
	s.do(func() error { return s.parts.MoveReplica(t0, dir, false) })
}

// steps go on with the move, with a record between any two, until it is over or stop
// says so.
func (s *tale) steps(limit int, stop func() bool) {
	for range 200 {
		if s.err != nil || stop() {
			return
		}
		var next partitions.MoveStep
		s.do(func() (err error) { next, err = s.step(limit); return err })
		if s.err == nil && next == partitions.MoveOver {
			return
		}
	}
	s.do(func() error { return fmt.Errorf("the move does not end") })
}

func (s *tale) isTold() bool { _, told := s.wants(); return told }

// commit has the controller take what it was told, unless the machine is off.
func (s *tale) commit() {
	s.do(func() error { s.take(); return nil })
}

// tell is the script: a log of several segments and epochs that was trimmed moves
// under load, a move back is cancelled when metadata names its target, and it moves once more.
func (s *tale) tell() {
	s.produce(8)
	s.do(func() error { s.apply(testbed.Elect(topic, 0, testbed.Self)); return nil })
	s.trim(3)
	s.produce(3)
	s.moveTo(ids[1])
	for i := range 3 {
		s.do(func() error { _, err := s.step(100 + i); return err })
		s.produce(1)
	}
	s.trim(5)
	s.steps(200, s.isTold)
	s.produce(1)
	s.commit()
	s.produce(1)
	s.steps(200, func() bool { return false })
	s.produce(2)
	s.moveTo(ids[0])
	s.steps(1000, s.isTold)
	s.commit()
	s.moveTo(ids[1]) // cancelled
	s.produce(1)
	s.commit()
	s.moveTo(ids[2])
	s.steps(1000, s.isTold)
	s.commit()
	s.steps(1000, func() bool { return false })
	s.produce(1)
}

// check starts again on what is left, and compares it with what was told.
func (s *tale) check(t *testing.T, disk *vfs.Mem, img *image.Image) {
	t.Helper()
	b, err := start(t, disk, img)
	must(t, err)
	defer b.close()
	b.take() // a replica that was not there
	b.finish()
	_, part, _ := b.img.PartitionByID(id0)
	named, _ := part.DirOf(testbed.Self)
	at := -1
	for i, id := range ids {
		if id == named {
			at = i
		}
	}
	if at < 0 || settled(t, disk) != roots[at]+"/t-0" {
		t.Fatalf("metadata names %s, and there are %s", named, folders(t, disk))
	}
	if n := strings.Count(folders(t, disk), "-stray"); n > 1 {
		t.Fatalf("set aside: %s", folders(t, disk))
	}
	// All that was acknowledged is there, once and in order, and perhaps what was not
	// answered any more.
	p := b.part().Status()
	if p.LogStart > max(s.start, s.raised) {
		t.Fatalf("starts at %d, deleted below %d", p.LogStart, s.start)
	}
	want := s.acked
	if s.flying != "" && int(p.LogEnd) > len(want) {
		want = append(want[:len(want):len(want)], s.flying)
	}
	if int(p.LogStart) > len(want) {
		t.Fatalf("starts at %d of %d", p.LogStart, len(want))
	}
	if got := b.read(); strings.Join(got, " ") != strings.Join(want[p.LogStart:], " ") {
		t.Fatalf("from %d: holds %v\nwant %v", p.LogStart, got, want[p.LogStart:])
	}
	must(t, b.append("after"))
}

// The rule of case J-06: the machine stops at every step of a move that changes a
// disk. After a loss of power with nothing kept of what was not synced, with some of it, and after a
// kill, with the assignment under way committed or not, there is one plain folder, in the
// directory that metadata names, no future one, and no acknowledged record is lost.
func TestAMoveSurvivesACutAtEveryStep(t *testing.T) {
	cuts, starts := 0, 0
	for cut := 0; ; cut++ {
		s := newTale(t)
		s.fault.StopAfter(cut)
		s.tell()
		stopped := s.err != nil
		images := []*image.Image{s.img}
		if dir, told := s.wants(); told {
			next, _, err := image.Apply(s.img, []metarec.Message{assignment(dir)})
			must(t, err)
			images = append(images, next)
		}
		t.Run(fmt.Sprint("cut", cut), func(t *testing.T) {
			crashed := []*vfs.Mem{s.disk.Crash()}
			for seed := range uint64(2) {
				crashed = append(crashed, s.disk.CrashTorn(seed))
			}
			s.close()
			for _, img := range images {
				for _, disk := range crashed {
					s.check(t, disk.CrashTorn(7), img) // what a crash leaves is synced: a copy
					starts++
				}
			}
			s.check(t, s.disk, images[len(images)-1])
			starts++
		})
		cuts++
		if t.Failed() {
			t.FailNow()
		}
		if !stopped {
			if cuts < 100 {
				t.Fatalf("the tale has only %d steps", cuts)
			}
			t.Logf("%d steps, %d starts after a crash: all healed", cuts, starts)
			return
		}
	}
}

func newTale(t *testing.T) *tale {
	s := &tale{disk: formatted()}
	var err error
	s.broker, err = start(t, s.disk, metadata(t, ids[0]))
	must(t, err)
	return s
}
