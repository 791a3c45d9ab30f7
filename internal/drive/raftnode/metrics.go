package raftnode

import (
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// Metrics are the figures of Kafka's group raft-metrics, under its names.
type Metrics struct {
	CurrentState           string  // current-state
	CurrentLeader          int32   // current-leader, -1 none
	CurrentVote            int32   // current-vote, -1 none; own id while leader or candidate
	CurrentVoteDirectoryID string  // current-vote-directory-id
	CurrentEpoch           int32   // current-epoch
	HighWatermark          int64   // high-watermark, -1 unknown
	LogEndOffset           int64   // log-end-offset
	LogEndEpoch            int32   // log-end-epoch
	NumberOfVoters         int     // number-of-voters
	NumberOfObservers      int     // number-of-observers; counts while leader
	UncommittedVoterChange bool    // uncommitted-voter-change, while leader
	PollIdleRatio          float64 // poll-idle-ratio-avg, since it was asked for last
	UnknownVoterConns      int     // number-unknown-voter-connections, always 0
	AppendRecords          uint64  // append-records-rate counts these
	FetchRecords           uint64  // fetch-records-rate counts these
	CommitLatencyAvg       float64 // commit-latency-avg, ms from append to commit on the leader
	CommitLatencyMax       float64 // commit-latency-max
	ElectionLatencyAvg     float64 // election-latency-avg, ms until Leader or Follower
	ElectionLatencyMax     float64 // election-latency-max

	// Beyond Kafka's.
	Occasions [occasionCount]uint64
	Syncs     uint64 // of the metadata log (B7)
}

// stats are measured by the loop and read by anyone.
type stats struct {
	appends, fetches atomic.Uint64
	observers        atomic.Int64
	idle             idleness
	occasions        occasions
	syncs            atomic.Uint64
	commit, election latency
	electing         time.Time // loop only: since when an election is under way
	waiting          []waitingCommit
}

type waitingCommit struct {
	end kafka.Offset
	at  time.Time
}

// maxWaiting bounds the appends whose commit is timed at once.
const maxWaiting = 256

// latency is an average and a maximum.
type latency struct{ count, sum, max atomic.Int64 }

func (l *latency) saw(d time.Duration) {
	l.count.Add(1)
	l.sum.Add(int64(d))
	if int64(d) > l.max.Load() {
		l.max.Store(int64(d)) // only the loop stores
	}
}

func (l *latency) avgMs() float64 {
	n := l.count.Load()
	if n == 0 {
		return 0
	}
	return float64(l.sum.Load()) / float64(n) / float64(time.Millisecond)
}

func (l *latency) maxMs() float64 { return float64(l.max.Load()) / float64(time.Millisecond) }

// appended counts what is handed to the log.
func (s *stats) appended(a raft.Append) {
	records := uint64(a.End - a.Base)
	if a.From != 0 {
		s.fetches.Add(records)
		return
	}
	s.appends.Add(records)
	if len(s.waiting) < maxWaiting {
		s.waiting = append(s.waiting, waitingCommit{a.End, time.Now()})
	}
}

// changed times elections and commits.
func (s *stats) changed(before, now *View, observers int) {
	if now.Role != raft.RoleLeader {
		s.waiting = s.waiting[:0]
	}
	done := 0
	for done < len(s.waiting) && s.waiting[done].end <= now.HighWatermark {
		s.commit.saw(time.Since(s.waiting[done].at))
		done++
	}
	s.waiting = append(s.waiting[:0], s.waiting[done:]...)
	s.observers.Store(int64(observers))
	if before == nil || before.Role == now.Role {
		return
	}
	switch now.Role {
	case raft.RoleProspective, raft.RoleCandidate:
		if s.electing.IsZero() {
			s.electing = time.Now()
		}
	case raft.RoleLeader, raft.RoleFollower:
		if !s.electing.IsZero() {
			s.election.saw(time.Since(s.electing))
			s.electing = time.Time{}
		}
	}
}

// Metrics reads the figures as they are now.
func (n *Node) Metrics() Metrics {
	v := n.View()
	m := Metrics{
		CurrentState: stateName(v), CurrentLeader: int32(v.Leader), CurrentVote: int32(v.Election.Voted.Node),
		CurrentVoteDirectoryID: v.Election.Voted.Dir.String(), CurrentEpoch: int32(v.Epoch),
		HighWatermark: int64(v.HighWatermark), LogEndOffset: int64(v.LogEnd), LogEndEpoch: int32(v.LogEndEpoch),
		NumberOfVoters: len(v.Voters), NumberOfObservers: int(n.loop.stats.observers.Load()),
		UncommittedVoterChange: v.VoterChange, PollIdleRatio: n.loop.stats.idle.ratio(n.clock.now()),
		AppendRecords: n.loop.stats.appends.Load(), FetchRecords: n.loop.stats.fetches.Load(),
		CommitLatencyAvg: n.loop.stats.commit.avgMs(), CommitLatencyMax: n.loop.stats.commit.maxMs(),
		ElectionLatencyAvg: n.loop.stats.election.avgMs(), ElectionLatencyMax: n.loop.stats.election.maxMs(),
		Occasions: n.loop.stats.occasions.read(), Syncs: n.loop.stats.syncs.Load(),
	}
	if v.Role == raft.RoleLeader || v.Role == raft.RoleCandidate {
		m.CurrentVote, m.CurrentVoteDirectoryID = int32(n.cfg.Self.Node), n.cfg.Self.Dir.String()
	}
	return m
}

// stateName is a role under Kafka's names for current-state.
func stateName(v *View) string {
	voted := v.Election.Voted.Node >= 0
	switch {
	case v.Role == raft.RoleFollower && v.Observer:
		return "observer"
	case v.Role == raft.RoleResigned:
		return "unattached"
	case v.Role == raft.RoleUnattached && voted:
		return "unattached-voted"
	case v.Role == raft.RoleProspective && voted:
		return "prospective-voted"
	}
	return string(v.Role)
}
