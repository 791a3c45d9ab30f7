package raftnode

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// site serves the requests of the quorum at a socket.
type site struct {
	node   *Node
	vote   int16         // newest version of Vote that it tells
	ready  chan struct{} // closed when node is set
	server *transport.Server
	port   uint16
}

// quorumKeys are the requests between members, with their newest versions.
var quorumKeys = map[int16]int16{1: 18, 18: 4, 52: 2, 53: 1, 54: 1, 59: 1, 80: 1, 81: 0, 82: 0}

func (s *site) Find(key, version int16) (transport.Service, bool) {
	if newest, ok := quorumKeys[key]; !ok || version > newest {
		return transport.Service{}, false
	}
	if key == 18 {
		return transport.Service{Handler: s.versions}, true
	}
	return transport.Service{Handler: s.serve}, true
}

func (s *site) versions(r *transport.Request, reply func(transport.Reply)) {
	resp := r.Body.ResponseKind().(*kmsg.ApiVersionsResponse)
	for key, newest := range quorumKeys {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, newest
		if key == 52 {
			k.MaxVersion = s.vote
		}
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	reply(transport.FromMessage(resp))
}

func (s *site) serve(r *transport.Request, reply func(transport.Reply)) {
	<-s.ready
	s.node.Handle(r.Ctx, RequestInfo{Listener: r.Conn.Listener}, r.Body, func(resp kmsg.Response) { reply(transport.FromMessage(resp)) })
}

func open(t *testing.T) *site {
	t.Helper()
	return openAt(t, "localhost:0")
}

func openAt(t *testing.T, addr string) *site {
	t.Helper()
	s := &site{vote: 2, ready: make(chan struct{}), server: transport.NewServer(transport.Config{})}
	l, err := s.server.Listen(transport.ListenerConfig{Name: "CONTROLLER", Addr: addr, Routes: s})
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	s.port = uint16(l.Addr().(*net.TCPAddr).Port)
	return s
}

// The same quorum over sockets: elect, replicate, fail over.
func TestAQuorumOverSockets(t *testing.T) {
	sites := map[kafka.NodeID]*site{}
	var voters raft.Voters
	for id := range kafka.NodeID(3) {
		sites[id+1] = open(t)
		voters = voters.With(raft.Voter{Key: kafka.ReplicaKey{Node: id + 1}, Endpoints: endpoints(sites[id+1].port)})
	}
	sites[2].vote = 1 // one that does not know pre-votes
	ears := map[kafka.NodeID]*ear{}
	for id, s := range sites {
		cfg := lone(vfs.NewMem(), "/data/__cluster_metadata-0")
		cfg.Self, cfg.Voters, cfg.Endpoints, cfg.Seed = kafka.ReplicaKey{Node: id, Dir: kafka.DirID{1, byte(id)}}, voters, endpoints(s.port), uint64(id)
		pool := transport.NewPool(transport.ClientConfig{ClientID: "raft-client"})
		defer pool.Close()
		cfg.Sender = OverTransport(pool, &transport.Dialer{}, 2*time.Second)
		s.node = start(t, cfg)
		ears[id] = listen(s.node)
		close(s.ready)
	}
	q := &quorum{t: t, nodes: map[kafka.NodeID]*Node{}, ears: ears}
	for id, s := range sites {
		q.nodes[id] = s.node
	}
	lead := q.leader()
	end := mustAppend(t, lead, record(t, 1))
	for _, e := range ears {
		e.awaitEnd(t, end)
	}
	id := lead.View().Leader
	leave(t, lead)
	sites[id].close(t)
	delete(q.nodes, id)
	delete(ears, id)
	end = mustAppend(t, q.leader(), record(t, 2))
	for _, e := range ears {
		e.awaitEnd(t, end)
	}
	for id, n := range q.nodes {
		leave(t, n)
		sites[id].close(t)
	}
}

func (s *site) close(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.server.Close(ctx); err != nil {
		t.Error(err)
	}
}

// "PreVote=true cannot be encoded below v2": the peer must not take it for a
// vote.
func TestAPreVoteDoesNotReachAPeerThatWouldTakeItForAVote(t *testing.T) {
	s := open(t)
	defer s.close(t)
	s.vote = 1
	close(s.ready) // without a node: any request that arrives would panic
	pool := transport.NewPool(transport.ClientConfig{ClientID: "raft-client"})
	defer pool.Close()
	w := translator{clusterID: "c"}
	for range 2 { // on a new connection, and on one that is there
		got := make(chan error, 1)
		OverTransport(pool, &transport.Dialer{}, patience).Send(1, hostPort(endpoints(s.port)[0]), w.askVote(raft.VoteRequest{PreVote: true}), func(_ kmsg.Response, err error) { got <- err })
		if err := <-got; !errors.Is(err, ErrUnsupportedVersion) {
			t.Errorf("got %v", err)
		}
	}
}

// Another process at the address of one that knew pre-votes: an older one, as
// when an upgrade is taken back. What the broken connection knew is forgotten.
func TestAPreVoteDoesNotReachAnOlderPeerThatTookTheAddressOver(t *testing.T) {
	before := open(t)
	addr := hostPort(endpoints(before.port)[0])
	pool := transport.NewPool(transport.ClientConfig{ClientID: "raft-client"})
	defer pool.Close()
	sender := OverTransport(pool, &transport.Dialer{}, patience)
	if _, err := pool.Do(t.Context(), addr, kmsg.NewPtrApiVersionsRequest()); err != nil {
		t.Fatal(err)
	}
	before.close(t)
	after := openAt(t, "localhost:"+strconv.Itoa(int(before.port)))
	defer after.close(t)
	after.vote = 1
	close(after.ready) // without a node: any request that arrives would panic
	w := translator{clusterID: "c"}
	got := make(chan error, 1)
	for { // until the client has noticed that the first connection is gone
		sender.Send(1, addr, w.askVote(raft.VoteRequest{PreVote: true}), func(_ kmsg.Response, err error) { got <- err })
		if err := <-got; errors.Is(err, ErrUnsupportedVersion) {
			return
		} else if err == nil {
			t.Fatal("it answered a pre-vote")
		}
	}
}

// A peer that cannot be reached is not taken for an old one, whatever is known
// of the process that was there.
func TestAPeerThatIsGoneIsNoOldPeer(t *testing.T) {
	s := open(t)
	addr := hostPort(endpoints(s.port)[0])
	pool := transport.NewPool(transport.ClientConfig{ClientID: "raft-client"})
	defer pool.Close()
	if _, err := pool.Do(t.Context(), addr, kmsg.NewPtrApiVersionsRequest()); err != nil {
		t.Fatal(err)
	}
	s.close(t)
	w := translator{clusterID: "c"}
	got := make(chan error, 1)
	for range 3 {
		OverTransport(pool, &transport.Dialer{}, patience).Send(1, addr, w.askVote(raft.VoteRequest{PreVote: true}), func(_ kmsg.Response, err error) { got <- err })
		if err := <-got; err == nil || errors.Is(err, ErrUnsupportedVersion) {
			t.Errorf("got %v", err)
		}
	}
}

// While proof of a leader's death is sought the other voters are greeted, so that
// the first pre-vote finds a connection on which the versions are known.
func TestAPeerIsGreetedBeforeThereIsARequest(t *testing.T) {
	s := open(t)
	defer s.server.Close(t.Context())
	pool := transport.NewPool(transport.ClientConfig{ClientID: "raft-client"})
	defer pool.Close()
	addr := hostPort(endpoints(s.port)[0])
	OverTransport(pool, &transport.Dialer{}, 2*time.Second).(Greeter).Greet(addr)
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C { // the test's own deadline ends it
		if _, newest, known := pool.Get(addr).Versions(int16(kmsg.Vote)); known {
			if newest != 2 {
				t.Errorf("Vote up to version %d", newest)
			}
			return
		}
	}
}
