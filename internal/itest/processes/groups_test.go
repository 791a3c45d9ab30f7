package processes

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// Two groups of two members each, one of franz-go and one of librdkafka, commit
// every second while the node that coordinates them is killed, paused or stopped
// in order. Both read on and commit on, neither reads again what was committed
// before, and in the end both have read all that was acknowledged.
//
// The clients' own time limits are short: a paused node keeps its connections
// open, and a client waits for answers until it gives up.
func TestAGroupOfTwoOutlivesTheLossOfItsCoordinator(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c.Addrs(), "t", 4)
	load := startTrickle(t, c.Addrs(), "t")
	groups := []*audited{kgoPair(t, c), kcatPair(t, c)}
	faults := []struct {
		name       string
		begin, end func(*itest.Node)
	}{
		{"kill", func(n *itest.Node) { n.Kill() }, func(n *itest.Node) { n.Again(t); n.AwaitReady(t) }},
		{"pause", func(n *itest.Node) { n.Pause() }, func(n *itest.Node) { n.Continue() }},
		{"stop", func(n *itest.Node) { n.Stop(t) }, func(n *itest.Node) { n.Again(t); n.AwaitReady(t) }},
	}
	for i, f := range faults {
		allInSync(t, c.Addrs(), "t")
		allInSync(t, c.Addrs(), "__consumer_offsets")
		var before []snapshot
		for _, g := range groups {
			g.isStable(t)
			g.readsOn(t, nil)
			before = append(before, g.snapshot(t))
		}
		victim := c.Nodes[coordinatorOf(t, c, groups[i%2].group)-1]
		began := time.Now()
		f.begin(victim)
		for _, g := range groups {
			g.readsOn(t, victim)
			t.Logf("%s of node %d: %s reads and commits again after %v", f.name, victim.ID, g.group, time.Since(began).Round(time.Millisecond))
		}
		f.end(victim)
		for i, g := range groups {
			g.nothingBelow(t, before[i])
		}
	}
	acked := load.stop(t)
	for _, g := range groups {
		g.hasAll(t, acked)
	}
}

// A topic is deleted and made again while the coordinator of a group that has
// read it is dead, before anybody else is elected: nobody wrote tombstones. The
// group begins the new topic where it begins, and not where it left the old one.
func TestOffsetsDoNotOutliveATopicThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c.Addrs(), "t", 1)
	at := kadm.Offsets{}
	at.AddOffset("t", 0, 1000, -1)
	if err := kadm.NewClient(client(t, c.Addrs())).CommitAllOffsets(patience(t), "g", at); err != nil {
		t.Fatal(err)
	}
	allInSync(t, c.Addrs(), "__consumer_offsets")
	victim := c.Nodes[coordinatorOf(t, c, "g")-1]
	addrs := strings.Join(addrsBut(c, victim), ",")
	admin := kadm.NewClient(client(t, addrs))
	if _, err := admin.ListTopics(patience(t)); err != nil { // it is connected before the clock runs
		t.Fatal(err)
	}
	victim.Kill()
	if _, err := admin.DeleteTopics(patience(t), "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(patience(t), 1, 2, nil, "t"); err != nil {
		t.Fatal(err)
	}
	itest.Eventually(t, func() error {
		got, err := kadm.NewClient(client(t, addrs)).FetchOffsets(patience(t), "g")
		if err != nil {
			return err
		}
		if o, ok := got.Lookup("t", 0); ok && (o.Err != nil || o.At >= 0) {
			t.Errorf("the group is at %+v", o)
		}
		return nil
	})
	itest.Ottla(t, lines(numbered("new", 5)), "produce", "--topic", "t", "--bootstrap-server", addrs)
	cl := client(t, addrs, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fetched := cl.PollFetches(patience(t))
	if r := fetched.Records(); len(r) == 0 || r[0].Offset != 0 {
		t.Errorf("the member begins with %d records, %+v; %v", len(r), r, fetched.Err())
	}
}

// addrsBut are the addresses of all nodes but one; nil: of all.
func addrsBut(c *itest.Cluster, out *itest.Node) []string {
	var up []string
	for _, n := range c.Nodes {
		if n != out {
			up = append(up, n.Addr)
		}
	}
	return up
}

// coordinatorOf is the node that coordinates a group. It waits until there is
// one.
func coordinatorOf(t *testing.T, c *itest.Cluster, group string) int32 {
	t.Helper()
	var node int32
	admin := kadm.NewClient(client(t, c.Addrs()))
	itest.Eventually(t, func() error {
		at := admin.FindGroupCoordinators(patience(t), group)[group]
		node = at.NodeID
		return at.Err
	})
	return node
}

// delivery is a record that a member of a group was given.
type delivery struct {
	partition int32
	offset    int64
	value     string
}

// audited is a group whose deliveries are watched.
type audited struct {
	group      string
	cluster    *itest.Cluster
	deliveries func() []delivery // of all members, those of each partition in order
}

// committed are the offsets that the group has committed, asked of nodes other
// than the one that is out, by a client that has not heard of any coordinator.
func (g *audited) committed(out *itest.Node) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrsBut(g.cluster, out)...))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	got, err := kadm.NewClient(cl).FetchOffsets(ctx, g.group)
	at := map[int32]int64{}
	got.Each(func(o kadm.OffsetResponse) { at[o.Partition] = o.At })
	return at, err
}

// isStable waits until the group is settled with both its members.
func (g *audited) isStable(t *testing.T) {
	t.Helper()
	admin := kadm.NewClient(client(t, g.cluster.Addrs()))
	itest.Eventually(t, func() error {
		described, err := admin.DescribeGroups(patience(t), g.group)
		if is := described[g.group]; err == nil && (is.State != "Stable" || len(is.Members) != 2) {
			err = fmt.Errorf("%s is %s with %d members, %v", g.group, is.State, len(is.Members), is.Err)
		}
		return err
	})
}

// readsOn waits until the group has read and committed more of every partition.
func (g *audited) readsOn(t *testing.T, out *itest.Node) {
	t.Helper()
	var from map[int32]int64
	itest.Eventually(t, func() (err error) { from, err = g.committed(out); return err })
	itest.Eventually(t, func() error {
		now, err := g.committed(out)
		if err != nil {
			return err
		}
		for p := range int32(4) {
			if now[p] <= from[p] {
				return fmt.Errorf("%s: partition %d is committed up to %d since %d", g.group, p, now[p], from[p])
			}
		}
		return nil
	})
}

// snapshot is what a group had committed at some time, and what it had been
// given by then.
type snapshot struct {
	committed map[int32]int64
	given     map[delivery]int
}

func (g *audited) snapshot(t *testing.T) snapshot {
	t.Helper()
	committed, err := g.committed(nil)
	if err != nil {
		t.Fatal(err)
	}
	given := map[delivery]int{}
	for _, d := range g.deliveries() {
		given[d]++
	}
	return snapshot{committed, given}
}

// nothingBelow checks that nothing was given out since then that had been
// committed before.
func (g *audited) nothingBelow(t *testing.T, then snapshot) {
	t.Helper()
	for _, d := range g.deliveries() {
		if then.given[d] > 0 {
			then.given[d]--
			continue
		}
		if d.offset < then.committed[d.partition] {
			t.Errorf("%s: offset %d of partition %d, committed up to %d, was read again", g.group, d.offset, d.partition, then.committed[d.partition])
		}
	}
}

// hasAll waits until the group has read every record that was acknowledged.
func (g *audited) hasAll(t *testing.T, acked []string) {
	t.Helper()
	itest.Eventually(t, func() error {
		missing := map[string]bool{}
		for _, v := range acked {
			missing[v] = true
		}
		read := g.deliveries()
		for _, d := range read {
			delete(missing, d.value)
		}
		if n := len(missing); n > 0 {
			return fmt.Errorf("%s has not read %d of %d records, %q among them", g.group, n, len(acked), slices.Sorted(maps.Keys(missing))[0])
		}
		t.Logf("%s: %d records, %d deliveries", g.group, len(acked), len(read))
		return nil
	})
}

// kgoPair are two members of franz-go in one group.
func kgoPair(t *testing.T, c *itest.Cluster) *audited {
	t.Helper()
	var mu sync.Mutex
	var got []delivery
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range 2 {
		cl := client(t, c.Addrs(), kgo.ConsumerGroup("of-kgo"), kgo.ConsumeTopics("t"),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(time.Second), kgo.SessionTimeout(6*time.Second),
			kgo.RebalanceTimeout(10*time.Second), kgo.RequestTimeoutOverhead(2*time.Second))
		running.Go(func() {
			for ctx.Err() == nil {
				cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, delivery{r.Partition, r.Offset, string(r.Value)})
				})
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	return &audited{group: "of-kgo", cluster: c, deliveries: func() []delivery {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}}
}

// kcatPair are two kcats in one group.
func kcatPair(t *testing.T, c *itest.Cluster) *audited {
	t.Helper()
	var members []*itest.Proc
	for range 2 {
		members = append(members, itest.Start(t, "kcat -G", exec.Command("kcat", "-b", c.Addrs(), "-u",
			"-X", "auto.offset.reset=earliest", "-X", "auto.commit.interval.ms=1000", "-X", "session.timeout.ms=6000", "-X", "max.poll.interval.ms=10000",
			"-X", "socket.timeout.ms=4000", "-X", "topic.metadata.refresh.interval.ms=2000",
			"-f", "%p %o %s\n", "-G", "of-kcat", "t")))
	}
	return &audited{group: "of-kcat", cluster: c, deliveries: func() []delivery {
		var all []delivery
		for _, m := range members {
			for line := range strings.Lines(m.Output()) {
				if d, ok := printed(line); ok {
					all = append(all, d)
				}
			}
		}
		return all
	}}
}

// printed reads a line that kcat printed for a record, once it is whole.
func printed(line string) (d delivery, ok bool) {
	line, whole := strings.CutSuffix(line, "\n")
	head, value, found := strings.Cut(line, " v ")
	_, err := fmt.Sscanf(head, "%d %d", &d.partition, &d.offset)
	d.value = "v " + value
	return d, whole && found && err == nil
}

// trickle is a producer that writes a record to each partition every few
// milliseconds.
type trickle struct {
	cl         *kgo.Client
	quit, done chan struct{}
	mu         sync.Mutex
	acked      []string
}

func startTrickle(t *testing.T, addr, topic string) *trickle {
	t.Helper()
	cl := client(t, addr, kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProduceRequestTimeout(2*time.Second), kgo.RequestTimeoutOverhead(time.Second), kgo.RecordRetries(1<<30), kgo.UnknownTopicRetries(-1))
	l := &trickle{cl: cl, quit: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *trickle) run() {
	defer close(l.done)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-l.quit:
			return
		case <-tick.C:
		}
		r := kgo.StringRecord(fmt.Sprintf("v %06d", i))
		r.Partition = int32(i % 4)
		l.cl.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			if err == nil {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.acked = append(l.acked, string(r.Value))
			}
		})
	}
}

// stop ends the load and gives what was acknowledged.
func (l *trickle) stop(t *testing.T) []string {
	t.Helper()
	close(l.quit)
	<-l.done
	if err := l.cl.Flush(patience(t)); err != nil {
		t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}
