package node

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

var (
	diskRuns  = flag.Int("disk-runs", 40, "how many simulated clusters with disks to run")
	diskFirst = flag.Uint64("disk-first", 1, "the first one's seed")
)

// committed holds each committed batch against the rules for metadata.
func (w *simWorld) committed(before, after *image.Image) {
	w.checks++
	for at, p := range after.Partitions() {
		id := kafka.TopicIDPartition{Topic: at.Topic.ID, Partition: at.Partition}
		if _, old, ok := before.PartitionByID(id); !ok || old.Epoch != p.Epoch {
			w.note("%s-%d: leader %d@%d ISR %v ELR %v dirs %s", at.Topic.Name, at.Partition, p.Leader, p.LeaderEpoch, p.ISR, p.ELR, simDirs(p.Dirs))
		}
		if p.Leader == kafka.NoNode {
			continue
		}
		b, ok := after.Broker(p.Leader)
		dir, has := p.DirOf(p.Leader)
		switch {
		case !ok || !has || b.Fenced:
			w.broke("M4: %s-%d is led by %d, which is fenced or none of its replicas", at.Topic.Name, at.Partition, p.Leader)
		case !b.Online(dir):
			w.broke("M8: %s-%d is led by %d from directory %s, which is offline", at.Topic.Name, at.Partition, p.Leader, dir)
		}
	}
	for id, b := range after.Brokers().All() {
		old, ok := before.Broker(id)
		if !ok || !old.Fenced || b.Fenced || len(b.Dirs) < 2 {
			continue
		}
		for at, p := range after.Partitions() {
			if dir, has := p.DirOf(id); has && (dir == kafka.DirUnassigned || dir == kafka.DirMigrating) {
				w.broke("S2, S9: broker %d is unfenced and %s-%d is at %s", id, at.Topic.Name, at.Partition, dir)
			}
		}
	}
}

// simDirs writes directories as broker and number.
func simDirs(dirs []kafka.DirID) string {
	var words []string
	for _, d := range dirs {
		words = append(words, fmt.Sprintf("%d.%d", d[0], d[14]))
	}
	return strings.Join(words, " ")
}

// about picks what a story tells of the partitions that are named in what was broken,
// and of no others.
func about(story, broken []string) (lines []string) {
	named := strings.Join(broken, " ")
	for _, l := range story {
		words := strings.Fields(l)
		name := strings.Trim(words[min(1, len(words)-1)], ":\"")
		if !strings.HasPrefix(name, "t") || !strings.Contains(name, "-") || strings.Contains(named, name) {
			lines = append(lines, l)
		}
	}
	return lines
}

// look holds the directories in service against P8. A folder may be left where a new
// replica could not be made because the disk failed then.
func (w *simWorld) look() {
	w.steps++
	for _, b := range w.brokers {
		if b.role == nil || b.seen == 0 {
			continue // which one is the replica is known with the metadata
		}
		online := b.role.dirs.Online
		for name, dirs := range b.folders() {
			for _, dir := range dirs {
				b.had[name+" in "+b.idOf(dir).String()] = true
			}
			dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !online(b.idOf(dir)) })
			if len(dirs) > 1 {
				w.broke("P8: %v has %s in %v", b, name, dirs)
			}
			if recorded, known := b.recorded(name); known && b.had[name+" in "+recorded.String()] && len(dirs) > 0 && !online(recorded) {
				w.broke("P8: %v has made %s anew in %v, although its directory %s may come back", b, name, dirs, recorded)
			}
		}
	}
}

// recorded is the directory that the broker's metadata has for a replica, if that is one
// of its disks.
func (b *simBroker) recorded(folder string) (kafka.DirID, bool) {
	topic, number, _ := strings.Cut(folder, "-")
	n, err := strconv.Atoi(number)
	p, ok := b.img.Partition(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)})
	if err != nil || !ok {
		return kafka.DirID{}, false
	}
	dir, has := p.DirOf(b.id)
	return dir, has && slices.ContainsFunc(b.dirs, func(path string) bool { return b.idOf(path) == dir })
}

// idOf is the id of a directory, as its disk has it.
func (b *simBroker) idOf(dir string) kafka.DirID {
	raw, err := vfs.ReadFile(b.disk, filepath.Join(dir, metaprops.FileName), 1<<10)
	if err != nil {
		return kafka.DirID{}
	}
	p, err := metaprops.Parse(raw)
	if err != nil {
		return kafka.DirID{}
	}
	return p.DirID
}

func simValues(p *partitions.Partition) (values []string, err error) {
	anybody := partitions.Consumer
	anybody.AnyReplica = true
	var dec batch.Decoder
	for from := kafka.Offset(0); ; {
		d, err := p.Read(anybody, partitions.Want{CurrentEpoch: kafka.NoEpoch, LastEpoch: kafka.NoEpoch, Offset: from, MaxBytes: 1 << 20, AtLeastOne: true})
		if err != nil {
			return nil, err
		}
		b, err := d.Records.AppendTo(nil)
		d.Records.Close()
		if err != nil || len(b) == 0 {
			return values, err
		}
		for h, one := range batch.All(b) {
			for rec, err := range dec.Records(one) {
				if err != nil {
					return nil, err
				}
				values = append(values, string(rec.Value))
			}
			from = h.End()
		}
	}
}

// read holds what all replicas have against what was acknowledged.
func (w *simWorld) read() {
	have := map[string]map[kafka.NodeID]bool{}
	img := w.q.Image()
	for at := range img.Partitions() {
		id := kafka.TopicIDPartition{Topic: at.Topic.ID, Partition: at.Partition}
		for _, b := range w.brokers {
			values, err := b.readAll(id)
			if err != nil {
				w.broke("%v cannot read %s-%d: %v", b, at.Topic.Name, at.Partition, err)
			}
			for _, v := range values {
				if have[v] == nil {
					have[v] = map[kafka.NodeID]bool{}
				}
				if have[v][b.id] {
					w.broke("%v has %q twice", b, v)
				}
				have[v][b.id] = true
			}
		}
	}
	for v := range w.acked {
		topic, _, _ := strings.Cut(v, "-")
		if _, there := img.TopicNamed(topic); there && len(have[v]) != simBrokers {
			w.broke("P6, L8: %q was acknowledged and is on %d brokers", v, len(have[v]))
		}
	}
}

// snapshot rebuilds the metadata from a snapshot of it (S8).
func (w *simWorld) snapshot() {
	img := w.q.Image()
	again := image.Empty()
	for m := range img.Records(func(what string) { w.broke("S8: a snapshot loses %s", what) }) {
		next, _, err := image.Apply(again, []metarec.Message{m})
		if err != nil {
			w.broke("S8: %v", err)
			return
		}
		again = next
	}
	for at, p := range img.Partitions() {
		_, q, ok := again.PartitionByID(kafka.TopicIDPartition{Topic: at.Topic.ID, Partition: at.Partition})
		if !ok || !slices.Equal(p.Dirs, q.Dirs) {
			w.broke("S8: %s-%d is at %v, and in a snapshot at %v", at.Topic.Name, at.Partition, p.Dirs, q)
		}
	}
}

// run plays one seed.
func (w *simWorld) run() {
	for range 3 {
		w.create()
	}
	w.pass(2 * time.Second)
	for range 150 {
		w.act()
		w.pass(time.Duration(1+w.roll(400)) * time.Millisecond)
		if len(w.broken) > 0 {
			return
		}
	}
	if w.end(); len(w.broken) > 0 {
		return
	}
	w.read()
	w.snapshot()
}

func (w *simWorld) close() {
	w.calm.Store(true)
	for _, b := range w.brokers {
		b.stop(false)
	}
	w.q.node.Stop()
	time.Sleep(10 * time.Minute) // what is under way ends
	synctest.Wait()
}

// "Metadata from before our registration speaks of the process that was here last": a
// broker has no replicas before metadata holds the registration of this process. Else it
// would lead on where the last one led, and followers would cut their logs after its own.
func TestABrokerBeginsWithItsOwnRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimWorld(t, 1)
		defer w.close()
		w.calm.Store(true)
		w.pass(5 * time.Second)
		w.create()
		w.pass(5 * time.Second)
		if !w.settled() {
			t.Fatal(w.unsettled())
		}
		b := w.brokers[0]
		b.stop(false)
		b.mute.Store(true)
		b.start()
		w.pass(200 * time.Millisecond)
		if b.seen == 0 || len(b.role.parts.All()) > 0 {
			t.Errorf("after %d batches of metadata it has %d replicas", b.seen, len(b.role.parts.All()))
		}
		b.mute.Store(false)
		w.pass(5 * time.Second)
		if !w.settled() || len(b.role.parts.All()) == 0 {
			t.Errorf("%s; %d replicas", w.unsettled(), len(b.role.parts.All()))
		}
	})
}

// Brokers with one to five disks, of which each may fail, come back, be replaced by an
// empty one or be added, while processes die, power is lost, controllers move and
// requests are lost or doubled: nothing leads from a disk that is offline (M8), no
// broker has two copies of a replica (P8), nobody is unfenced before all its placements
// are committed (S2, S9), and in the end all run and nothing that was acknowledged is
// gone.
func TestSimulatedDisks(t *testing.T) {
	runs := *diskRuns
	if testing.Short() {
		runs = 3
	}
	faults := map[string]int{}
	steps, checks, acked, virtual := 0, 0, 0, time.Duration(0)
	for i := range runs {
		seed := *diskFirst + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			w := newSimWorld(t, seed)
			began := time.Now()
			w.run()
			virtual += time.Since(began)
			for name, n := range w.faults {
				faults[name] += n
			}
			steps, checks, acked = steps+w.steps, checks+w.checks, acked+len(w.acked)
			broken, story := w.broken, w.story
			w.close()
			if len(broken) > 0 {
				t.Errorf("seed %d (-disk-first %d -disk-runs 1):\n%s\n%s", seed, seed, strings.Join(about(story, broken), "\n"), strings.Join(broken, "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
	var told []string
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		told = append(told, fmt.Sprintf("%s %d", name, faults[name]))
	}
	t.Logf("ledger: %d simulated clusters with disks, seeds %d to %d: %s | %.0f simulated seconds, %d looks at all disks, %d batches of metadata checked, %d records acknowledged and found everywhere",
		runs, *diskFirst, *diskFirst+uint64(runs)-1, strings.Join(told, ", "), virtual.Seconds(), steps, checks, acked)
	if runs >= 40 && len(faults) < 17 {
		t.Errorf("only %d kinds of faults: %v", len(faults), faults)
	}
}
