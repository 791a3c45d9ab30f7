package dirmove_test

import (
	"fmt"
	"log/slog"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

var (
	ids   = []kafka.DirID{{0xd1}, {0xd2}, {0xd3}}
	roots = []string{"/d1", "/d2", "/d3"}
	topic = kafka.TopicID{0x70, 15: 1}
	t0    = kafka.TopicPartition{Topic: "t"}
	id0   = kafka.TopicIDPartition{Topic: topic}
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// broker has the replica t-0, alone, and three directories. Its controller takes what it
// is told when the test says so.
type broker struct {
	t      testing.TB
	fault  *vfs.Fault
	now    time.Time
	claim  *dirs.Claimed
	dirs   *dirs.Dirs
	parts  *partitions.Manager
	img    *image.Image
	before *image.Image
	buf    []byte
	begin  func(*partitions.Partition)

	mu     sync.Mutex
	told   map[kafka.TopicIDPartition]kafka.DirID // what the controller has not taken yet
	failed []kafka.DirID
}

func formatted() *vfs.Mem {
	disk := vfs.NewMem()
	for i, root := range roots {
		p := metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, DirID: ids[i]}
		_ = vfs.MkdirAllSync(disk, root, 0o755)
		_ = vfs.WriteFileAtomic(disk, path.Join(root, metaprops.FileName), p.Text(time.Unix(0, 0)))
	}
	return disk
}

// metadata is an image in which t-0 is in a directory. Appends are synced before anybody
// is told of them.
func metadata(t testing.TB, dir kafka.DirID) *image.Image {
	reg := metarec.NewRegisterBrokerRecord()
	reg.BrokerId, reg.BrokerEpoch, reg.IncarnationId, reg.Fenced, reg.LogDirs = 1, 100, kafka.UUID{1}, false, ids
	part := testbed.Partition(topic, 0, testbed.Self)
	part.Directories = []kafka.DirID{dir}
	records := []metarec.Message{reg, &metarec.TopicRecord{Name: "t", TopicId: topic}, part}
	for name, value := range map[string]string{"flush.messages": "1", "internal.segment.bytes": "400", "index.interval.bytes": "100"} {
		records = append(records, &metarec.ConfigRecord{ResourceType: int8(image.TopicResource), ResourceName: "t", Name: name, Value: &value})
	}
	img, _, err := image.Apply(image.Empty(), records)
	must(t, err)
	return img
}

// start begins on a disk with metadata. The error is that of a disk which is off.
func start(t testing.TB, disk vfs.FS, img *image.Image) (*broker, error) {
	b := &broker{
		t: t, fault: vfs.NewFault(disk), now: time.Unix(1_800_000_000, 0), img: img, before: image.Empty(),
		told: map[kafka.TopicIDPartition]kafka.DirID{}, begin: func(*partitions.Partition) {},
	}
	return b, b.load()
}

func (b *broker) load() (err error) {
	clock := func() time.Time { return b.now }
	b.claim, err = dirs.Claim(dirs.Want{FS: b.fault, Node: 1, LogDirs: roots, Metadata: roots[0], Now: clock})
	if err != nil {
		return err
	}
	static, err := config.New(nil)
	must(b.t, err)
	b.dirs, err = dirs.Load(b.claim, dirs.Options{
		Config: config.TopicDefaults(static), Files: storage.NewFiles(math.MaxInt), Now: clock, Live: dirs.Live{Threads: 1},
		OnFailed: b.dirFailed,
	})
	if err != nil {
		return err
	}
	b.parts = partitions.NewManager(partitions.Config{
		Self: testbed.Self, Broker: static, Dirs: b.dirs, Assign: b, Timers: await.NewTimers(), Log: slog.New(slog.DiscardHandler),
		Moves: &partitions.Moves{Dirs: b.dirs, Begin: func(p *partitions.Partition) { b.begin(p) }, Pending: b.pending},
	})
	b.publish()
	return nil
}

// close ends the process: nothing is synced for it.
func (b *broker) close() {
	if b.parts != nil {
		b.parts.Close()
		b.dirs.Close(false, 0, b.parts)
	}
	if b.claim != nil {
		b.claim.Close()
	}
}

func (b *broker) dirFailed(dir kafka.DirID, _ string, _ error) {
	b.parts.DirFailed(dir)
	b.mu.Lock()
	b.failed = append(b.failed, dir)
	b.mu.Unlock()
}

// Assign implements partitions.Assigner.
func (b *broker) Assign(r kafka.TopicIDPartition, dir kafka.DirID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told[r] = dir
}

// Unassign implements partitions.Assigner.
func (b *broker) Unassign(r kafka.TopicIDPartition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.told, r)
}

func (b *broker) pending(r kafka.TopicIDPartition) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, waits := b.told[r]
	return waits
}

// wants is what the controller was told last and has not taken.
func (b *broker) wants() (kafka.DirID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dir, ok := b.told[id0]
	return dir, ok
}

func (b *broker) apply(records ...metarec.Message) {
	b.t.Helper()
	img, _, err := image.Apply(b.img, records)
	must(b.t, err)
	b.img = img
	b.publish()
}

func (b *broker) publish() {
	b.parts.Publish(image.Between(b.before, b.img), b.img)
	b.before = b.img
}

// take has the controller commit what it was told.
func (b *broker) take() bool {
	dir, ok := b.wants()
	if !ok {
		return false
	}
	r := assignment(dir)
	if _, p, _ := b.img.PartitionByID(id0); len(p.Replicas) > 1 {
		r.Directories = append(r.Directories, kafka.DirID{1}) // the other broker's
	}
	b.apply(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told[id0] == dir { // a newer report waits for its turn
		delete(b.told, id0)
	}
	return true
}

func assignment(dir kafka.DirID) *metarec.PartitionChangeRecord {
	r := metarec.NewPartitionChangeRecord()
	r.TopicId, r.PartitionId, r.Directories = topic, 0, []kafka.DirID{dir}
	return r
}

func (b *broker) part() *partitions.Partition {
	b.t.Helper()
	p, err := b.parts.Named(t0)
	must(b.t, err)
	return p
}

// append appends one record and waits until its producer is told.
func (b *broker) append(value string) error {
	w := batch.NewBuilder(batch.Options{})
	w.Add(1000, nil, []byte(value))
	p := b.part()
	got, err := p.Append(w.Build(nil), true)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		done, err := p.Acked(got, true)
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nobody is told of %s", value)
		}
		time.Sleep(10 * time.Microsecond)
	}
}

// read gives the records from the start on, as "offset=value".
func (b *broker) read() (all []string) {
	b.t.Helper()
	p := b.part()
	s := p.Status()
	for at := s.LogStart; at < s.LogEnd; {
		d, err := p.Read(partitions.Reader{Follower: testbed.Other}, partitions.Want{CurrentEpoch: kafka.NoEpoch, LastEpoch: kafka.NoEpoch, Offset: at, MaxBytes: 1 << 20, AtLeastOne: true})
		if err != nil {
			d, err = p.Read(partitions.Consumer, partitions.Want{CurrentEpoch: kafka.NoEpoch, LastEpoch: kafka.NoEpoch, Offset: at, MaxBytes: 1 << 20, AtLeastOne: true})
		}
		must(b.t, err)
		raw, err := d.Records.AppendTo(nil)
		d.Records.Close()
		must(b.t, err)
		if len(raw) == 0 {
			b.t.Fatalf("nothing at %d of [%d, %d)", at, s.LogStart, s.LogEnd)
		}
		for h, bytes := range batch.All(raw) {
			dec := batch.NewDecoder(len(bytes))
			o := h.BaseOffset
			for r, err := range dec.Records(bytes) {
				must(b.t, err)
				if o >= s.LogStart {
					all = append(all, fmt.Sprintf("%d=%s", o, r.Value))
				}
				o++
			}
			at = h.End()
		}
	}
	return all
}

// folders are those of t-0, as "/d1/t-0 /d2/t-0-future".
func folders(t testing.TB, disk vfs.FS) string {
	t.Helper()
	var all []string
	for _, root := range roots {
		entries, err := disk.ReadDir(root)
		must(t, err)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "t-") {
				continue
			}
			name := e.Name()
			if i := strings.IndexByte(name, '.'); i > 0 {
				name = name[:i] + name[strings.LastIndexByte(name, '-'):]
			}
			all = append(all, root+"/"+name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// settled are the folders that count: without what waits for its removal, or was set
// aside.
func settled(t testing.TB, disk vfs.FS) string {
	t.Helper()
	list := slices.DeleteFunc(strings.Fields(folders(t, disk)), func(s string) bool {
		return strings.HasSuffix(s, "-delete") || strings.HasSuffix(s, "-stray")
	})
	return strings.Join(list, " ")
}

// step takes one step of the move.
func (b *broker) step(limit int) (partitions.MoveStep, error) {
	_, next, err := b.part().StepMove(limit, &b.buf)
	return next, err
}

// finish steps, with a controller that takes all, until nothing moves.
func (b *broker) finish() {
	b.t.Helper()
	for range 1000 {
		next, err := b.step(1 << 20)
		must(b.t, err)
		if !b.take() && next == partitions.MoveOver {
			return
		}
	}
	b.t.Fatal("the move does not end")
}
