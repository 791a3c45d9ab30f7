package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// outcome is looked up: what a part does depends on nothing else.
func (s *scope) outcome(id uint32, act int, arg uint32) *outcomeOf {
	return s.remembered(uint64(id)<<32|uint64(act)<<28|uint64(arg), func() *outcomeOf { return s.find(id, act, arg) })
}

func (s *scope) find(id uint32, act int, arg uint32) *outcomeOf {
	before := *s.parts.at(id)
	h := before.try(func(p *part, h *happened) { s.act(p, h, act, arg) })
	if s.atOnce || s.quick {
		h = s.settleDisk(h)
	}
	if h.rule == "" && act == actDeliver {
		h.rule = preVoteLeftTraces(before, h, s.messages.at(arg).envelope)
	}
	if h.rule == "" && before.deaths {
		h.rule = s.roundTooSoon(before, h, act, arg)
	}
	if s.bug != nil {
		s.bug(before, &h)
	}
	o := &outcomeOf{rule: h.rule, beyond: h.part.core.election.Epoch > s.epochs}
	if h.rule == "" && !o.beyond {
		for n := range kafka.NodeID(s.nodes() + 1) {
			if was := before.call(n); was != 0 && was != h.part.call(n) {
				o.closed |= 1 << n
			}
		}
		if act == actCrash || act == actLose {
			o.closed = 0xff
		}
		o.part, o.sent = s.part(h.part), s.network(h.part, h.sent)
	}
	return o
}

func (s *scope) act(p *part, h *happened, act int, arg uint32) {
	switch act {
	case actDeliver:
		p.receive(s.messages.at(arg).envelope, h)
	case actTimeout:
		p.timeout(h)
	case actWrite:
		p.write(h)
	case actSync:
		p.sync(h)
	case actCrash:
		p.boot(int(arg), h)
	case actPropose:
		p.step(Propose{Ticket: 1, Epoch: p.core.election.Epoch, Count: 1}, envelope{}, h)
	case actAdd:
		id := kafka.NodeID(arg)
		p.step(Received{1, AddVoterRequest{Voter: s.keyToAdd(p, id), Endpoints: endpointsOf(id), AtOnce: true}}, envelope{}, h)
	case actRemove:
		v, _ := p.core.quorum.voters().Node(kafka.NodeID(arg))
		p.step(Received{1, RemoveVoterRequest{Voter: v.Key}}, envelope{}, h)
	case actLose:
		p.lose(h)
	case actPause:
		p.pause(h)
	case actProof:
		p.told(p.core.election.Leader, p.core.election.Epoch, h)
	case actStale:
		p.told(kafka.NodeID(arg&255), kafka.Epoch(arg>>8), h)
	case actHalf:
		p.halfPasses(h)
	case actD:
		p.wait(h)
	}
}

// keyToAdd is the key under which a node would be added: with the disk that it got
// for its lost one, if the leader has heard of that.
func (s *scope) keyToAdd(p *part, id kafka.NodeID) kafka.ReplicaKey {
	key := kafka.ReplicaKey{Node: id, Dir: dirOf(id)}
	for _, r := range p.core.role.(*leader).replicas.without(nil) {
		if r.key.Node == id && r.key != key {
			return r.key
		}
	}
	return key
}

// newDirOf is the directory of a node that has lost its first.
func newDirOf(id kafka.NodeID) kafka.DirID { return dirOf(id + 64) }

// settleDisk writes, and syncs unless only the files are quick, all there is.
func (s *scope) settleDisk(h happened) happened {
	for h.rule == "" && (len(h.part.queue) > 0 || s.atOnce && len(h.part.late) > 0) {
		next := h.part.try(func(p *part, n *happened) {
			if len(p.queue) > 0 {
				p.write(n)
			} else {
				p.sync(n)
			}
		})
		next.sent = append(h.sent, next.sent...)
		h = next
	}
	return h
}

// network lets messages enter it, and changes what old nodes do not speak.
func (s *scope) network(from *part, sent []envelope) []uint16 {
	var out []uint16
	for _, e := range sent {
		if s.gone != 0 && e.to == s.gone {
			continue
		}
		switch body := e.body.(type) {
		case FetchRequest:
			if _, follows := from.core.role.(*follower); s.mute || !follows && !s.seek {
				continue // who leads is learnt from its calls
			}
			body.HighWatermark = kafka.NoOffset // matters for what is parked, and nothing is
			e.body = body
		case VersionsRequest:
			e = envelope{from: e.to, to: e.from, answer: true, call: e.call, body: VersionsAnswer{MaxLevel: 1}}
		case VoteRequest:
			if body.PreVote && (slices.Contains(s.old, e.from) || slices.Contains(s.old, e.to)) {
				if e.call == 0 {
					continue
				}
				e = envelope{from: e.to, to: e.from, answer: true, call: e.call, body: unsupportedVersion{}}
			}
		}
		if e.answer && e.call == 0 {
			continue
		}
		out = append(out, s.message(e))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
