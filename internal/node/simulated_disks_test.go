package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/fetcher"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/edge/transport"
)

// simBrokers, and what each partition needs.
const (
	simBrokers = 3
	simMinISR  = 2
)

// simWorld is a cluster of brokers with disks in virtual time: the controller, the
// lifecycles, the replicas and the directories are those of a node; its network, its
// disks and its metadata log belong to the simulation.
type simWorld struct {
	t       *testing.T
	seed    uint64
	mu      sync.Mutex // of faults and what was sent
	rng     *rand.Rand
	story   []string // what has happened, for a run that fails
	began   time.Time
	q       *simQuorum
	brokers []*simBroker
	topics  int
	acks    []simAck        // under way
	acked   map[string]bool // values that were acknowledged, by topic and partition and value
	faults  map[string]int
	calm    atomic.Bool // nothing goes wrong any more
	broken  []string
	steps   int
	checks  int
}

// simAck is a produce that waits for its replicas.
type simAck struct {
	part *partitions.Partition
	by   *simBroker
	at   partitions.Appended
	what []string
}

// simBroker is a broker's machine: its disks stay while processes come and go.
type simBroker struct {
	w     *simWorld
	id    kafka.NodeID
	disk  *vfs.Mem
	fault *vfs.Fault
	dirs  []string
	bad   map[string]bool // directories on which something fails
	next  byte            // of directory ids

	role   *brokerRole                // nil while the process does not run
	serves atomic.Pointer[brokerRole] // role, for others
	files  *folders
	seen   int // batches of metadata that it has
	img    *image.Image
	cut    atomic.Bool     // from the controller
	mute   atomic.Bool     // its requests to the controller are lost, and metadata comes
	had    map[string]bool // "folder in directory" that were there
	sent   map[int16]int   // requests to the controller, by their keys
}

func newSimWorld(t *testing.T, seed uint64) *simWorld {
	w := &simWorld{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 858)), began: time.Now(), acked: map[string]bool{}, faults: map[string]int{}}
	w.q = newSimQuorum(t)
	w.q.check = w.committed
	w.q.elect(0)
	w.q.commit(100)
	for i := range simBrokers {
		b := &simBroker{w: w, id: kafka.NodeID(i + 1), disk: vfs.NewMem(), bad: map[string]bool{}, sent: map[int16]int{}, had: map[string]bool{}}
		b.format("/m")
		for n := range 1 + w.roll(4) {
			dir := fmt.Sprintf("/d%d", n+1)
			b.format(dir)
			b.dirs = append(b.dirs, dir)
		}
		w.brokers = append(w.brokers, b)
		b.start()
	}
	return w
}

func (w *simWorld) roll(n int) int {
	return w.rng.IntN(n)
}

func (w *simWorld) count(fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[fault]++
}

func (w *simWorld) note(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%9.3f ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

func (w *simWorld) broke(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
	w.note("BROKEN: "+format, args...)
}

func (b *simBroker) String() string { return fmt.Sprintf("broker %d", b.id) }

// format makes a directory with an id of its own.
func (b *simBroker) format(dir string) {
	b.next++
	p := metaprops.Properties{Version: 1, ClusterID: testCluster, NodeID: b.id, DirID: kafka.DirID{byte(b.id), 15: 200 + b.next%50, 14: b.next}}
	err := vfs.MkdirAllSync(b.disk, dir, 0o755)
	if err == nil {
		err = vfs.WriteFileAtomic(b.disk, filepath.Join(dir, metaprops.FileName), p.Text(time.Unix(0, 0)))
	}
	if err != nil {
		b.w.t.Fatal(err)
	}
}

// start starts a process on the disks.
func (b *simBroker) start() {
	b.fault = vfs.NewFault(b.disk)
	for dir := range b.bad {
		b.fault.Inject(vfs.Rule{Ops: vfs.OpAny, Path: dir + "/", Err: vfs.ErrIO})
	}
	text := fmt.Sprintf("process.roles=broker\nnode.id=%d\nlisteners=PLAINTEXT://127.0.0.1:0\nadvertised.listeners=PLAINTEXT://h:%d\n"+
		"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=100@127.0.0.1:1\nmetadata.log.dir=/m\nlog.dirs=%s\n"+
		"min.insync.replicas=%d\nlog.dir.failure.timeout.ms=600000\nottla.disks.probe.interval.ms=1000\nottla.scrub.bytes.per.second=0\n"+
		"broker.session.timeout.ms=9000\n", b.id, b.id, strings.Join(b.dirs, ","), simMinISR)
	cfg, _, err := config.Parse("server.properties", []byte(text), nil, config.Options{})
	if err != nil {
		b.w.t.Fatal(err)
	}
	e := newEnv(Options{Config: cfg, FS: b.fault, Log: slog.New(slog.DiscardHandler)})
	b.files, err = openFolders(e, 1000)
	if err != nil {
		b.w.note("%v does not start: %v", b, err)
		return
	}
	channel := toctrl.New(toctrl.Config{
		Self: b.id, Local: b.toController, Serves: b.w.q.api.Serves, Own: api.Oneself("CONTROLLER", "sim"),
		Seal: api.Seal, Unseal: api.Unseal, Elsewhere: api.Elsewhere,
	})
	channel.Moved(toctrl.Leader{Node: b.id, Epoch: 1})
	b.role = newBrokerRole(e, b.files, []image.Endpoint{{Name: "PLAINTEXT", Host: "h", Port: uint16(b.id)}}, channel)
	b.role.fetcher = fetcher.New(b.fetcherConfig())
	b.role.stops.add(channel.Close)
	b.role.run(nil)
	b.serves.Store(b.role)
	b.seen, b.img = 0, image.Empty()
	b.w.note("%v starts with %v", b, b.dirs)
}

// stop ends the process, in good order or as a kill does.
func (b *simBroker) stop(orderly bool) {
	if b.role == nil {
		return
	}
	epoch := kafka.NoBrokerEpoch
	if orderly {
		done := make(chan kafka.BrokerEpoch, 1)
		go func() { done <- b.role.leave() }()
		for left := 200; left > 0; left-- {
			b.w.pass(100 * time.Millisecond)
			select {
			case epoch = <-done:
				left = 0
			default:
			}
		}
	}
	b.serves.Store(nil)
	b.role.close()
	b.files.close(departure{orderly: orderly, epoch: epoch})
	b.role = nil
	b.w.note("%v stopped, in good order: %v", b, orderly)
}

// toController is the network between a broker and the controller.
func (b *simBroker) toController(ctx context.Context, from transport.Caller, req kmsg.Request, done func(kmsg.Response, error)) {
	w := b.w
	luck := b.luck(req.Key())
	go func() {
		time.Sleep(time.Duration(1+luck.IntN(20)) * time.Millisecond)
		lost := !w.calm.Load() && luck.IntN(20) == 0
		if b.cut.Load() || b.mute.Load() || lost && luck.IntN(2) == 0 {
			w.count("request lost")
			<-ctx.Done()
			done(nil, ctx.Err())
			return
		}
		answers := make(chan func(), 2)
		times := 1
		if !w.calm.Load() && luck.IntN(20) == 0 {
			w.count("request doubled")
			times = 2
		}
		for range times {
			w.q.api.Call(ctx, from, req, func(resp kmsg.Response, err error) { answers <- func() { done(resp, err) } })
		}
		select {
		case answer := <-answers:
			if lost {
				w.count("answer lost")
				<-ctx.Done()
				done(nil, ctx.Err())
				return
			}
			time.Sleep(time.Duration(1+luck.IntN(20)) * time.Millisecond)
			answer()
		case <-ctx.Done():
			done(nil, ctx.Err())
		}
	}()
}

// luck is what happens to a request. It depends on no other, so that one seed is one
// story however goroutines take their turns.
func (b *simBroker) luck(key int16) *rand.Rand {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.sent[key]++
	return rand.New(rand.NewPCG(b.w.seed, uint64(b.id)<<48|uint64(key)<<32|uint64(b.sent[key])))
}

func (b *simBroker) fetcherConfig() fetcher.Config {
	cfg := b.role.fetcherConfig()
	cfg.Connect = func(addr string) fetcher.Conn { return &simConn{b.w, addr} }
	cfg.Quota = nil
	return cfg
}

// simConn is the network between a follower and a leader.
type simConn struct {
	w    *simWorld
	addr string
}

func (c *simConn) Close() {}

func (c *simConn) Send(ctx context.Context, req kmsg.Request, done func(kmsg.Response, error)) {
	go func() {
		time.Sleep(5 * time.Millisecond)
		resp, err := c.answer(req)
		if f, ok := req.(*kmsg.FetchRequest); ok && err == nil && f.MaxWaitMillis > 0 {
			time.Sleep(20 * time.Millisecond)
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		done(resp, err)
	}()
}

func (c *simConn) answer(req kmsg.Request) (kmsg.Response, error) {
	for _, b := range c.w.brokers {
		if role := b.serves.Load(); c.addr == fmt.Sprintf("h:%d", b.id) && role != nil {
			switch req := req.(type) {
			case *kmsg.FetchRequest:
				return fetched(role, req), nil
			case *kmsg.ListOffsetsRequest:
				return listed(role, req), nil
			}
		}
	}
	return nil, errors.New("connection refused")
}

// fetched answers a follower without a session.
func fetched(role *brokerRole, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	for _, t := range req.Topics {
		out := kmsg.NewFetchResponseTopic()
		out.TopicID = t.TopicID
		for _, p := range t.Partitions {
			a := kmsg.NewFetchResponseTopicPartition()
			a.Partition = p.Partition
			part, err := role.parts.ByID(kafka.TopicIDPartition{Topic: t.TopicID, Partition: kafka.PartitionID(p.Partition)})
			var d partitions.Data
			if err == nil {
				d, err = part.Read(partitions.Reader{Follower: kafka.NodeID(req.ReplicaState.ID), BrokerEpoch: kafka.BrokerEpoch(req.ReplicaState.Epoch)}, partitions.Want{
					CurrentEpoch: kafka.Epoch(p.CurrentLeaderEpoch), Offset: kafka.Offset(p.FetchOffset), LastEpoch: kafka.Epoch(p.LastFetchedEpoch),
					LogStart: kafka.Offset(p.LogStartOffset), MaxBytes: 1 << 20, AtLeastOne: true,
				})
			}
			if err != nil {
				a.ErrorCode = int16(kerr.Of(err))
			} else {
				a.HighWatermark, a.LogStartOffset = int64(d.HighWatermark), int64(d.LogStart)
				if d.Diverging != nil {
					a.DivergingEpoch.Epoch, a.DivergingEpoch.EndOffset = int32(d.Diverging.Epoch), int64(d.Diverging.End)
				} else if a.RecordBatches, err = d.Records.AppendTo(nil); err != nil {
					a.ErrorCode = int16(kerr.KafkaStorageError)
				}
				d.Records.Close()
			}
			out.Partitions = append(out.Partitions, a)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func listed(role *brokerRole, req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range req.Topics {
		out := kmsg.NewListOffsetsResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			a := kmsg.NewListOffsetsResponseTopicPartition()
			a.Partition, a.Offset = p.Partition, -1
			if part, err := role.parts.Named(kafka.TopicPartition{Topic: t.Topic, Partition: kafka.PartitionID(p.Partition)}); err != nil {
				a.ErrorCode = int16(kerr.Of(err))
			} else if s := part.Status(); p.Timestamp == -2 {
				a.Offset = int64(s.LogStart)
			} else {
				a.Offset = int64(s.LogEnd)
			}
			out.Partitions = append(out.Partitions, a)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// deliver brings metadata to a broker: all that is committed, or a part of it.
func (b *simBroker) deliver(all bool) {
	if b.role == nil || b.cut.Load() {
		return
	}
	batches := b.w.q.since(b.seen)
	if len(batches) == 0 {
		return
	}
	if !all && b.seen > 0 { // what a broker begins with is all that was committed then
		batches = batches[:1+b.w.roll(len(batches))]
	}
	var records []metarec.Message
	for _, x := range batches {
		records = append(records, x...)
	}
	next, delta, err := image.Apply(b.img, records)
	if err != nil {
		b.w.broke("%v cannot apply metadata: %v", b, err)
		return
	}
	b.seen, b.img = b.seen+len(batches), next
	b.role.publish(delta, next)
	b.role.life.Published(next.NextOffset() - 1)
}

// pass lets time pass and the world go on: records are committed and delivered.
func (w *simWorld) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if w.calm.Load() || w.roll(3) > 0 {
			w.q.commit(1 + w.roll(3))
		}
		for _, b := range w.brokers {
			if w.calm.Load() || w.roll(3) > 0 {
				b.deliver(w.calm.Load())
			}
		}
		w.collect()
	}
	synctest.Wait()
	w.look()
}

// collect notes which produces are acknowledged by now.
func (w *simWorld) collect() {
	w.acks = slices.DeleteFunc(w.acks, func(a simAck) bool {
		done, err := a.part.Acked(a.at, true)
		if done && err == nil {
			for _, v := range a.what {
				w.acked[v] = true
				w.note("%s-%d: %q is acknowledged by %v at %d@%d", a.part.Name.Topic, a.part.Name.Partition, v, a.by, a.at.Base, a.at.Epoch)
			}
		}
		return done
	})
}

// produce writes to partitions that have leaders.
func (w *simWorld) produce() {
	for _, b := range w.brokers {
		if b.role == nil {
			continue
		}
		all := b.role.parts.All()
		slices.SortFunc(all, func(a, b *partitions.Partition) int {
			return cmp.Or(strings.Compare(a.Name.Topic, b.Name.Topic), cmp.Compare(a.Name.Partition, b.Name.Partition))
		})
		for _, p := range all {
			leader, _ := p.Leader()
			if leader != b.id || w.roll(2) == 0 {
				continue
			}
			value := fmt.Sprintf("%s-%d %d", p.Name.Topic, p.Name.Partition, w.roll(1<<62))
			x := batch.NewBuilder(batch.Options{})
			x.Add(time.Now().UnixMilli(), nil, []byte(value))
			at, err := p.Append(x.Build(nil), true)
			if err == nil {
				w.acks = append(w.acks, simAck{p, b, at, []string{value}})
			}
		}
	}
}

// folders are the plain folders of partitions on a broker's disks, bad ones too.
func (b *simBroker) folders() map[string][]string {
	all := map[string][]string{}
	for _, dir := range b.dirs {
		entries, err := b.disk.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, e := range entries {
			if name := e.Name(); e.IsDir() && strings.HasPrefix(name, "t") && !strings.Contains(name, ".") {
				all[name] = append(all[name], dir)
			}
		}
	}
	return all
}
