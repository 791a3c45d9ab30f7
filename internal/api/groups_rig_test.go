package api

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupRig serves the APIs of groups over one real shard whose records are
// committed at once and whose clock is turned by hand.
type groupRig struct {
	t      *testing.T
	table  *Table
	img    *image.Image
	shard  *group.Shard
	now    group.Time
	due    kafka.Instant
	asked  int // for the coordinator, since the last look
	making int // calls of MakeTopic
	refuse kerr.Code
}

var topicT, topicOffsets = kafka.TopicID{1, 2, 3}, kafka.TopicID{4, 5, 6}

func newGroupRig(t *testing.T) *groupRig {
	cfg := group.Defaults()
	cfg.Random = rand.NewChaCha8([32]byte{1})
	g := &groupRig{t: t, shard: group.New(cfg), now: group.Time{UnixMilli: 1_700_000_000_000}}
	g.table = NewTable(OnBroker, About{}, GroupRoutes(GroupDeps{View: g, Groups: g}))
	broker := metarec.NewRegisterBrokerRecord()
	broker.BrokerId, broker.IncarnationId = 1, kafka.UUID{9}
	broker.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "broker.example", Port: 9092}}
	g.apply(broker)
	g.addTopic("t", topicT, 3)
	return g
}

func (g *groupRig) apply(recs ...metarec.Message) {
	g.t.Helper()
	if g.img == nil {
		g.img = image.Empty()
	}
	img, _, err := image.Apply(g.img, recs)
	if err != nil {
		g.t.Fatal(err)
	}
	g.img = img
}

func (g *groupRig) addTopic(name string, id kafka.TopicID, partitions int) {
	recs := []metarec.Message{&metarec.TopicRecord{Name: name, TopicId: id}}
	for i := range partitions {
		p := metarec.NewPartitionRecord()
		p.PartitionId, p.TopicId, p.Leader = int32(i), id, 1
		p.Replicas, p.Isr = []int32{1}, []int32{1}
		recs = append(recs, p)
	}
	g.apply(recs...)
}

func (g *groupRig) Image() *image.Image { return g.img }

func (g *groupRig) MakeTopic() { g.making++ }

func (g *groupRig) Submit(r group.Request, done func()) {
	g.asked++
	if g.refuse != kerr.None {
		group.Refuse(r, g.refuse)
		done()
		return
	}
	group.CallOf(r).Token = done
	g.step(r)
}

func (g *groupRig) List(done func([]group.Listed, kerr.Code)) {
	l := &group.List{}
	g.Submit(l, func() { done(l.Groups, l.Err) })
}

func (g *groupRig) step(ev group.Event) {
	eff := g.shard.Step(g.now, ev)
	g.due = eff.Deadline
	var last group.Seq
	for _, r := range eff.Append {
		last = r.Seq
	}
	answered := append([]group.Request(nil), eff.Answered...)
	for _, r := range answered {
		group.CallOf(r).Token.(func())()
	}
	if last > 0 {
		g.step(group.Committed{Through: last})
	}
}

// advance lets time pass.
func (g *groupRig) advance(d time.Duration) {
	end := g.now.At.Add(d)
	for g.due <= end {
		g.now.UnixMilli += g.due.Sub(g.now.At).Milliseconds()
		g.now.At = g.due
		g.step(group.Tick{})
	}
	g.now.UnixMilli += end.Sub(g.now.At).Milliseconds()
	g.now.At = end
}

// send gives a request to its route as it would come off the wire, and returns
// where the response will be: nil until there is one. Both go through their
// bytes, so that a field which a version lacks, or has to have, is seen.
func (g *groupRig) send(version int16, req kmsg.Request) *kmsg.Response {
	g.t.Helper()
	req.SetVersion(version)
	read := kmsg.RequestForKey(req.Key())
	read.SetVersion(version)
	if err := read.ReadFrom(req.AppendTo(nil)); err != nil {
		g.t.Fatal(err)
	}
	service, ok := g.table.Find(req.Key(), version)
	if !ok {
		g.t.Fatalf("%s has no version %d", kmsg.NameForKey(req.Key()), version)
	}
	got := new(kmsg.Response)
	service.Handler(&transport.Request{
		Key: req.Key(), Version: version, ClientID: "app", Body: read,
		Conn: &transport.ConnInfo{Listener: "PLAINTEXT", ClientHost: "10.0.0.1"}, Ctx: context.Background(),
	}, func(r transport.Reply) {
		m, ok := r.Message()
		if !ok || *got != nil {
			g.t.Fatalf("%s v%d: not one message in reply", kmsg.NameForKey(req.Key()), version)
		}
		resp := read.ResponseKind()
		resp.SetVersion(version)
		if err := resp.ReadFrom(m.AppendTo(nil)); err != nil {
			g.t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
		}
		*got = resp
	})
	return got
}

// answer is send for what is answered at once.
func answer[R kmsg.Response](g *groupRig, version int16, req kmsg.Request) R {
	g.t.Helper()
	got := *g.send(version, req)
	resp, ok := got.(R)
	if !ok {
		g.t.Fatalf("%s v%d: answer is %T", kmsg.NameForKey(req.Key()), version, got)
	}
	return resp
}

// join takes a member through JoinGroup and SyncGroup.
func (g *groupRig) join(id string) (member string, generation int32) {
	g.t.Helper()
	req := joinRequest(id)
	first := answer[*kmsg.JoinGroupResponse](g, 9, req)
	req.MemberID = first.MemberID
	later := g.send(9, req)
	g.advance(6 * time.Second)
	joined := (*later).(*kmsg.JoinGroupResponse)
	wantCode(g.t, "join", joined.ErrorCode, kerr.None)
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = id, joined.MemberID, joined.Generation
	sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte("A")}}
	wantCode(g.t, "sync", answer[*kmsg.SyncGroupResponse](g, 5, sync).ErrorCode, kerr.None)
	return joined.MemberID, joined.Generation
}

func joinRequest(id string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = id, 10_000, 30_000
	req.ProtocolType = "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 1, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 0}}}
	return req
}

func wantCode(t *testing.T, what string, got int16, want kerr.Code) {
	t.Helper()
	if kerr.Code(got) != want {
		t.Fatalf("%s: %v, want %v", what, kerr.Code(got), want)
	}
}

// versions calls f for each served version of an API.
func (g *groupRig) versions(key int16, f func(version int16)) {
	for _, r := range g.table.Routes() {
		if r.Key == key {
			for v := r.Min; v <= r.Max; v++ {
				f(v)
			}
			return
		}
	}
	g.t.Fatalf("key %d is not served", key)
}
