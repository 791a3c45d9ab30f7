package raft

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Commands for what no node in order does:
//
//	nameless ID k=v..   starts it over a disk as node does, but with no id;
//	        it goes on as it was if it does not start
//	chunk A->B id=END-EPOCH position=N bytes=N size=N    an answer of our own
//	        making to the FetchSnapshot that B has sent to A
func (w *world) odd(a args) (known bool, err error) {
	switch a.words[0] {
	case "nameless":
		return true, w.node(a.id(1)).startNameless(a)
	case "chunk":
		return true, w.chunk(a)
	}
	return false, nil
}

func (m *member) startNameless(a args) error {
	self, before := m.cfg.Self, m.disk
	m.cfg.Self.Node = -1
	defer func() { m.cfg.Self = self }()
	if err := m.fill(a); err != nil {
		m.disk = before
		m.w.printf("%d does not start: %v", m.id, err)
	}
	return nil
}

func (w *world) chunk(a args) error {
	leader, follower := route(a.words[1])
	asked, err := w.pick(args{words: []string{"", fmt.Sprintf("%d->%d", follower, leader), "FetchSnapshot"}})
	if err != nil {
		return err
	}
	w.handOver(envelope{from: leader, to: follower, call: asked.call, answer: true, body: SnapshotAnswer{
		Hint: Hint{Epoch: kafka.Epoch(a.num("epoch", 0)), Leader: leader}, ID: snapshotID(a.pairs["id"]),
		Position: int64(a.num("position", 0)), Bytes: int32(a.num("bytes", 0)), Size: int64(a.num("size", 0)),
	}})
	return nil
}
