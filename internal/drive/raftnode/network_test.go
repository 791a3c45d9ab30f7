package raftnode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// network carries requests between nodes as bytes of the newest version, or of
// an older one when a test sets it.
type network struct {
	mu       sync.Mutex
	nodes    map[string]peer // by address
	cut      map[string]bool
	versions map[int16]int16 // highest version of a key
	seen     map[string]int  // requests by name
}

// peer is who answers at an address.
type peer interface {
	Handle(ctx context.Context, from RequestInfo, req kmsg.Request, reply func(kmsg.Response))
	versions(req *kmsg.ApiVersionsRequest) kmsg.Response
}

func (r *Refill) versions(req *kmsg.ApiVersionsRequest) kmsg.Response { return r.node.versions(req) }

func newNetwork() *network {
	return &network{nodes: map[string]peer{}, cut: map[string]bool{}, versions: map[int16]int16{}, seen: map[string]int{}}
}

var errUnreachable = errors.New("unreachable")

// sender is the way of one node into the network.
type sender struct {
	net  *network
	from string
}

func (s sender) Send(_ kafka.NodeID, addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	go s.carry(addr, req, done)
}

func (s sender) carry(addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	to := s.net.reach(s.from, addr, req)
	if to == nil {
		done(nil, errUnreachable)
		return
	}
	version := req.MaxVersion()
	if v, lower := s.net.versions[req.Key()]; lower {
		version = v
	}
	if vote, ok := req.(*kmsg.VoteRequest); ok && version < 2 && vote.Topics[0].Partitions[0].PreVote {
		done(nil, fmt.Errorf("Vote: %w", ErrUnsupportedVersion))
		return
	}
	if versions, ok := req.(*kmsg.ApiVersionsRequest); ok {
		done(to.versions(versions), nil)
		return
	}
	arrived := again(req, version)
	to.Handle(context.Background(), RequestInfo{Listener: "CONTROLLER"}, arrived, func(resp kmsg.Response) {
		if s.net.reach(s.from, addr, nil) == nil {
			done(nil, errUnreachable)
			return
		}
		back := arrived.ResponseKind()
		back.SetVersion(version)
		if err := back.ReadFrom(resp.AppendTo(nil)); err != nil {
			panic(fmt.Sprintf("%T: %v", resp, err))
		}
		done(back, nil)
	})
}

// versions is what a node answers to ApiVersions.
func (n *Node) versions(req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	if req.NodeID != int32(n.cfg.Self.Node) || *req.ClusterID != n.cfg.ClusterID {
		resp.ErrorCode = int16(kerr.RebootstrapRequired)
	}
	resp.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: kraftVersion, MinVersion: 0, MaxVersion: 1}}
	return resp
}

// again takes a request through its bytes.
func again(req kmsg.Request, version int16) kmsg.Request {
	req.SetVersion(version)
	arrived := kmsg.RequestForKey(req.Key())
	arrived.SetVersion(version)
	if err := arrived.ReadFrom(req.AppendTo(nil)); err != nil {
		panic(fmt.Sprintf("%T: %v", req, err))
	}
	return arrived
}

func (n *network) reach(from, addr string, req kmsg.Request) peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	if req != nil {
		n.seen[fmt.Sprintf("%T", req)]++
	}
	if n.cut[from] || n.cut[addr] {
		return nil
	}
	return n.nodes[addr]
}

func (n *network) count(request string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[request]
}

// set puts a node behind an address; nil takes away who is there.
func (n *network) set(addr string, node peer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if node == nil {
		delete(n.nodes, addr)
		return
	}
	n.nodes[addr] = node
}

func (n *network) isolate(addr string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[addr] = cut
}

// quorum is a cluster in memory.
type quorum struct {
	t     *testing.T
	net   *network
	disks map[kafka.NodeID]*vfs.Mem
	nodes map[kafka.NodeID]*Node
	ears  map[kafka.NodeID]*ear
	voter raft.Voters
	edit  func(*Config)
}

func newQuorum(t *testing.T, voters ...kafka.NodeID) *quorum {
	q := &quorum{t: t, net: newNetwork(), disks: map[kafka.NodeID]*vfs.Mem{}, nodes: map[kafka.NodeID]*Node{}, ears: map[kafka.NodeID]*ear{}}
	for _, id := range voters {
		q.voter = q.voter.With(raft.Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpoints(uint16(9000 + id))})
	}
	return q
}

func address(id kafka.NodeID) string { return fmt.Sprintf("localhost:%d", 9000+id) }

// start starts a node on its disk, or on a new one.
func (q *quorum) start(ids ...kafka.NodeID) {
	q.t.Helper()
	for _, id := range ids {
		if q.disks[id] == nil {
			q.disks[id] = vfs.NewMem()
		}
		n := start(q.t, q.config(id))
		q.nodes[id], q.ears[id] = n, listen(n)
		q.net.set(address(id), n)
	}
}

// config is what a node is started with.
func (q *quorum) config(id kafka.NodeID) Config {
	cfg := lone(q.disks[id], "/data/__cluster_metadata-0")
	cfg.Self = kafka.ReplicaKey{Node: id, Dir: kafka.DirID{1, byte(id)}}
	cfg.Voters, cfg.Endpoints, cfg.Seed = q.voter, endpoints(uint16(9000+id)), uint64(id)
	cfg.Sender = sender{q.net, address(id)}
	if q.edit != nil {
		q.edit(&cfg)
	}
	return cfg
}

// crash ends a node; its disk keeps what was synced.
func (q *quorum) crash(id kafka.NodeID) {
	q.t.Helper()
	q.net.set(address(id), nil)
	disk := q.disks[id].Crash()
	leave(q.t, q.nodes[id])
	q.disks[id] = disk
	delete(q.nodes, id)
}

func (q *quorum) stopAll() {
	for id, n := range q.nodes {
		q.net.set(address(id), nil)
		leave(q.t, n)
	}
}

// leader waits until one of the nodes leads, others follow it, and its change
// of leader is committed.
func (q *quorum) leader() *Node {
	q.t.Helper()
	for _, e := range q.ears {
		e.await(q.t, "a leader", func(e *ear) bool {
			for _, n := range q.nodes {
				if v := n.View(); v.Role == raft.RoleLeader && len(e.leaders) > 0 &&
					e.leaders[len(e.leaders)-1] == (LeaderAndEpoch{v.Leader, v.Epoch}) {
					return true
				}
			}
			return false
		})
	}
	for _, n := range q.nodes {
		if n.View().Role == raft.RoleLeader {
			return n
		}
	}
	q.t.Fatal("no leader")
	return nil
}
