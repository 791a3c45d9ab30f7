package raftnode

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// A voter that advertises an address at which nobody reaches it is refused every
// fetch timeout. Leader and voter each say so once, and name the address.
func TestARefusedAddressIsToldOnBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newDynamicQuorum(t, 1, 2, 3)
		bootstrap := q.edit
		said := map[kafka.NodeID]*diary{}
		q.edit = func(c *Config) {
			bootstrap(c)
			d := &diary{}
			said[c.Self.Node] = d
			c.Log = slog.New(slog.NewTextHandler(d, nil))
		}
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader().View().Leader
		moved := lead%3 + 1
		q.crash(moved)
		edit := q.edit
		q.edit = func(c *Config) {
			edit(c)
			c.Endpoints = raft.Endpoints{{Name: "CONTROLLER", Host: "nowhere", Port: 1}}
		}
		q.start(moved)
		time.Sleep(30 * time.Second) // of the bubble
		if n := said[lead].with("the voters are not updated", "nowhere", "voter=", "does not answer"); n != 1 {
			t.Errorf("the leader says so %d times: %s", n, said[lead].lines)
		}
		if n := said[moved].with("the leader does not take the addresses", "nowhere"); n != 1 {
			t.Errorf("the voter says so %d times: %s", n, said[moved].lines)
		}
	})
}

// What a moment mends is told by nobody: neither at a leader that has committed
// nothing yet, nor at a voter that it refuses once.
func TestAnUpdateThatIsTooEarlyIsNotTold(t *testing.T) {
	var said diary
	w := translator{log: &complaints{log: slog.New(slog.NewTextHandler(&said, nil))}}
	w.tellRefusedUpdate(raft.UpdateVoterRequest{}, raft.UpdateVoterAnswer{Err: kerr.RequestTimedOut})
	m := raft.Message{Body: raft.UpdateVoterRequest{}}
	w.tellRefusedSelf(m, "leader:1", raft.UpdateVoterAnswer{Err: kerr.RequestTimedOut})
	w.tellRefusedSelf(m, "leader:1", raft.UpdateVoterAnswer{Err: kerr.NotLeaderOrFollower})
	w.tellRefusedSelf(m, "leader:1", raft.UpdateVoterAnswer{})
	if len(said.lines) != 0 {
		t.Error(said.lines)
	}
	w.tellRefusedSelf(m, "leader:1", raft.UpdateVoterAnswer{Err: kerr.RequestTimedOut})
	if len(said.lines) != 1 {
		t.Error(said.lines)
	}
}
