package abstract

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// reached notes how far a replica's disk is. It may go back: then the replica has
// lost its disk (KAFKA-12181).
func (s *State) reached(key kafka.ReplicaKey, end kafka.Offset) {
	all := make([]progress, 0, len(s.replicas)+1)
	for _, p := range s.replicas {
		if p.key != key {
			all = append(all, p)
		}
	}
	s.replicas = append(all, progress{key, end})
}

// advance moves the high watermark to what a majority of the voters has on disk
// (6.7). Nothing of an earlier epoch counts as committed before the first record
// of this one does, and our own part is what is durable (B7).
func (s *State) advance() {
	if s.Role != Leader || len(s.Voters) == 0 {
		return
	}
	var buf [16]kafka.Offset
	ends := buf[:0]
	for i := range s.Voters {
		end, key := kafka.NoOffset, &s.Voters[i].Key
		if key.Matches(s.self) {
			end = s.synced
		} else {
			for k := range s.replicas {
				if p := &s.replicas[k]; key.Matches(p.key) {
					end = min(p.end, s.LogEnd)
				}
			}
		}
		ends = append(ends, end)
	}
	slices.Sort(ends)
	// majority(n) voters have at least the element that has that many from it on.
	if hw := ends[len(ends)-majority(len(ends))]; hw > s.began && hw > s.leaderHW {
		s.leaderHW = hw
		s.HighWatermark = max(s.HighWatermark, hw)
	}
}

// change appends the set that was chosen, if there may be one now (8.1, R11, R16).
// If there may not, the state stays as it is, and a node that has appended one is
// not in the relation.
func (s *State) change(ev *Event) {
	set := ev.Chosen
	if set == nil || s.Role != Leader || s.leaderHW < 0 || s.leaving() && ev.Kind != VersionsAnswer {
		return
	}
	base := s.LogEnd
	if ev.Kind == RaiseRequest {
		if s.Level != 0 || ev.Message.Level != 1 || ev.Message.Ask || !sameNodes(s.Voters, set) {
			return
		}
		s.append(Records{Base: base, End: base + 2, Levels: []LevelAt{{base, 1}}, Sets: []SetAt{{base + 1, set}}})
		return
	}
	n := len(s.sets)
	if s.Level < 1 || n > 0 && s.sets[n-1].Offset >= s.leaderHW || different(s.Voters, set) > 1 {
		return
	}
	s.append(Records{Base: base, End: base + 1, Sets: []SetAt{{base, set}}})
}

// sameNodes: the voters are the same nodes, and each has a directory.
func sameNodes(before, after []Voter) bool {
	return slices.EqualFunc(before, after, func(a, b Voter) bool {
		return a.Key.Node == b.Key.Node && b.Key.Dir != kafka.DirID{}
	})
}

// different counts the voters that one of two sets has and the other has not. A
// set in which two voters have one directory, or one has none, is far from any.
func different(before, after []Voter) int {
	n, dirs := 0, map[kafka.DirID]bool{{}: true}
	for _, v := range after {
		if dirs[v.Key.Dir] {
			return len(before) + len(after)
		}
		dirs[v.Key.Dir] = true
		if !contains(before, v.Key) {
			n++
		}
	}
	for _, v := range before {
		if !contains(after, v.Key) {
			n++
		}
	}
	return n
}
