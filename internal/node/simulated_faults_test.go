package node

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

// act does one thing, or nothing where it is not its time.
func (w *simWorld) act() {
	b := w.brokers[w.roll(simBrokers)]
	switch n := w.roll(100); {
	case n < 45:
		w.produce()
	case n < 50:
		w.create()
	case n < 52:
		w.remove()
	case n < 58:
		kept := w.roll(3)
		w.note("the controller is another one, %d batches are kept", kept)
		w.count("controller moved")
		w.q.elect(kept)
	case n < 63:
		b.cut.Store(!b.cut.Load())
		w.count("cut off")
		w.note("%v is cut off from the controller: %v", b, b.cut.Load())
	case n < 72:
		b.breakOne()
	case n < 84:
		b.mendOne()
	case n < 88:
		if b.role != nil && w.mayLose() {
			w.count("process killed")
			b.stop(false)
		}
	case n < 90:
		if b.role != nil && w.mayLose() {
			w.count("stopped in good order")
			b.stop(true)
		}
	case n < 97:
		if b.role == nil {
			b.start()
		}
	default:
		b.losePower()
	}
}

// mayLose tells whether a process may end, perhaps without good order, only when
// everything is everywhere: what two of three brokers have acknowledged may be lost with
// two such ends, as in Apache Kafka (KIP-966).
func (w *simWorld) mayLose() bool {
	return w.settled()
}

// create makes a topic of some partitions on all brokers.
func (w *simWorld) create() {
	w.topics++
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.TimeoutMillis = 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = fmt.Sprintf("t%d", w.topics), int32(1+w.roll(4)), simBrokers
	req.Topics = append(req.Topics, t)
	w.q.api.Call(w.t.Context(), api.Oneself("CONTROLLER", "sim"), req, func(kmsg.Response, error) {})
}

func (w *simWorld) remove() {
	var names []string
	for name := range w.q.Image().TopicNames().All() {
		names = append(names, name)
	}
	if len(names) < 3 {
		return
	}
	name := names[w.roll(len(names))]
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	req.TimeoutMillis = 30_000
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &name
	req.Topics = append(req.Topics, t)
	w.count("topic deleted")
	w.note("%s is deleted", name)
	w.q.api.Call(w.t.Context(), api.Oneself("CONTROLLER", "sim"), req, func(kmsg.Response, error) {})
}

// kinds of what may be wrong with a disk, until it is mended.
var simFailures = []struct {
	name string
	rule vfs.Rule
}{
	{"write error", vfs.Rule{Ops: vfs.OpWrite, Err: vfs.ErrIO}},
	{"no space", vfs.Rule{Ops: vfs.OpWrite, Err: vfs.ErrNoSpace}},
	{"half of a write", vfs.Rule{Ops: vfs.OpWrite, Err: vfs.ErrIO, Short: true}},
	{"read error", vfs.Rule{Ops: vfs.OpRead, Err: vfs.ErrIO}},
	{"read-only", vfs.Rule{Ops: vfs.OpChange, Err: vfs.ErrIO}},
	{"dead", vfs.Rule{Ops: vfs.OpAny, Err: vfs.ErrIO}},
}

// breakOne has a disk fail. The last one that works stays: it would take the process
// along.
func (b *simBroker) breakOne() {
	dir := b.dirs[b.w.roll(len(b.dirs))]
	if b.role == nil || b.bad[dir] || len(b.role.dirs.OnlineIDs()) < 2 || len(b.bad)+1 >= len(b.dirs) {
		return
	}
	kind := simFailures[b.w.roll(len(simFailures))]
	rule := kind.rule
	rule.Path = dir + "/"
	b.fault.Inject(rule)
	b.bad[dir] = true
	b.w.count("disk: " + kind.name)
	b.w.note("%v: %s of %s", b, kind.name, dir)
}

// mendOne mends all disks of a broker. What is on them is what was there.
func (b *simBroker) mendOne() {
	if len(b.bad) > 0 {
		b.w.note("%v: %v work again", b, slices.Sorted(maps.Keys(b.bad)))
		b.w.count("disk mended")
		clear(b.bad)
		b.fault.Heal()
	}
}

// losePower loses what was not synced, or a whole disk, or does something to the disks
// of a process that does not run.
func (b *simBroker) losePower() {
	w := b.w
	if !w.mayLose() {
		return
	}
	torn := b.disk.CrashTorn(uint64(w.roll(1 << 30)))
	b.stop(false)
	b.disk = torn
	clear(b.bad)
	w.count("power lost")
	w.note("%v loses its power", b)
	dir := b.dirs[w.roll(len(b.dirs))]
	switch w.roll(4) {
	case 0:
		w.count("disk replaced by an empty one")
		w.note("%v: a new disk in the place of %s", b, dir)
		if err := b.disk.RemoveAll(dir); err != nil {
			w.t.Fatal(err)
		}
		b.format(dir)
	case 1:
		if len(b.dirs) < 5 {
			added := fmt.Sprintf("/d%d", len(b.dirs)+1)
			w.count("directory added")
			w.note("%v: %s is added", b, added)
			b.format(added)
			b.dirs = append(b.dirs, added)
		}
	case 2:
		b.moveByHand(dir)
	}
}

// moveByHand moves a partition's folder to another directory.
func (b *simBroker) moveByHand(to string) {
	folders := b.folders()
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if dirs := folders[name]; len(dirs) == 1 && dirs[0] != to {
			if err := b.disk.Rename(filepath.Join(dirs[0], name), filepath.Join(to, name)); err != nil {
				b.w.t.Fatal(err)
			}
			_ = b.disk.SyncDir(dirs[0])
			_ = b.disk.SyncDir(to)
			delete(b.had, name+" in "+b.idOf(dirs[0]).String())
			b.w.count("folder moved by hand")
			b.w.note("%v: %s is moved by hand from %s to %s", b, name, dirs[0], to)
			return
		}
	}
}

// settled tells whether all replicas of all partitions run and are in sync.
func (w *simWorld) settled() bool { return w.unsettled() == "" }

func (w *simWorld) unsettled() string {
	img := w.q.Image()
	for _, b := range w.brokers {
		r, ok := img.Broker(b.id)
		switch {
		case b.role == nil:
			return fmt.Sprintf("%v does not run", b)
		case !ok || r.Fenced || r.Epoch != b.role.life.Epoch():
			return fmt.Sprintf("%v is fenced", b)
		case len(b.role.dirs.Absent()) > 0:
			return fmt.Sprintf("%v: %s is offline: %v", b, b.role.dirs.Absent()[0].Path, b.role.dirs.Absent()[0].Err)
		case b.role.life.QueuedAssignments() > 0:
			return fmt.Sprintf("%v has %d assignments to tell", b, b.role.life.QueuedAssignments())
		case !slices.Equal(r.Dirs, b.role.dirs.OnlineIDs()):
			return fmt.Sprintf("%v is registered with %v, online are %v", b, r.Dirs, b.role.dirs.OnlineIDs())
		}
	}
	for at, p := range img.Partitions() {
		if p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
			return fmt.Sprintf("%s-%d: leader %d, ISR %v of %v: %s", at.Topic.Name, at.Partition, p.Leader, p.ISR, p.Replicas, w.replicas(at.Topic.ID, at.Partition))
		}
	}
	return ""
}

// replicas tells how the replicas of a partition are.
func (w *simWorld) replicas(topic kafka.TopicID, n kafka.PartitionID) (text string) {
	for _, b := range w.brokers {
		p, err := b.role.parts.ByID(kafka.TopicIDPartition{Topic: topic, Partition: n})
		if err != nil {
			text += fmt.Sprintf(" %v: %v;", b, err)
			continue
		}
		_, follows := p.Follower().Stands()
		text += fmt.Sprintf(" %v: %+v, follows %v, at %v;", b, p.Status(), follows, b.img.NextOffset())
	}
	return text
}

// end ends all faults and waits until everything runs. A disk whose sync has failed, and
// a replica that may be the last one and was not found when its disk came back, wait
// for the operator: a new process is as good as a word.
func (w *simWorld) end() {
	w.calm.Store(true)
	w.note("all is well from here on")
	for _, b := range w.brokers {
		b.cut.Store(false)
		b.mendOne()
	}
	for round := 0; round < 4; round++ {
		for _, b := range w.brokers {
			if b.role != nil && round > 0 && (len(b.role.dirs.Absent()) > 0 || len(b.role.parts.Offline()) > 0) {
				w.count("restarted in the end")
				b.stop(true)
			}
			if b.role == nil {
				b.start()
			}
			if b.role == nil {
				w.broke("%v does not start", b)
				return
			}
		}
		for range 60 {
			if w.pass(time.Second); w.settled() {
				w.note("settled")
				w.pass(5 * time.Second) // followers hear what is committed
				return
			}
		}
	}
	w.broke("nothing is settled: %s", w.unsettled())
}

// readAll gives the values in a partition's log on a broker.
func (b *simBroker) readAll(id kafka.TopicIDPartition) (values []string, err error) {
	p, err := b.role.parts.ByID(id)
	if err != nil {
		return nil, err
	}
	if s := p.Status(); s.Offline {
		return nil, kerr.KafkaStorageError
	}
	return simValues(p)
}
