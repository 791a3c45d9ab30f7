package raftnode

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/raft"
)

// maxBatch is the size of a batch of metadata records.
const maxBatch = 8 << 20

// controlBatch writes a batch of a leader's own. Control records are written in
// version 0, as Kafka up to 4.4 does and reads.
func controlBatch(a raft.Append, timestampMs int64) ([]byte, error) {
	b := batch.NewBuilder(batch.Options{BaseOffset: a.Base, LeaderEpoch: a.Epoch, Control: true})
	if a.Control.Change != nil {
		if err := addControl(b, timestampMs, batch.LeaderChange, leaderChange(a.Control.Change)); err != nil {
			return nil, err
		}
	}
	if err := addQuorumShape(b, timestampMs, a.Control.Level, a.Control.Set); err != nil {
		return nil, err
	}
	return b.Build(nil), nil
}

func leaderChange(c *raft.LeaderChange) *metarec.LeaderChangeMessage {
	m := metarec.NewLeaderChangeMessage()
	m.LeaderId = int32(c.Leader)
	for _, id := range c.Voters {
		m.Voters = append(m.Voters, metarec.LeaderChangeMessageVoter{VoterId: int32(id)})
	}
	for _, id := range c.Granting {
		m.GrantingVoters = append(m.GrantingVoters, metarec.LeaderChangeMessageVoter{VoterId: int32(id)})
	}
	return m
}

// addQuorumShape adds kraft.version and the voter set, each if there is one.
func addQuorumShape(b *batch.Builder, timestampMs int64, level *int16, set raft.Voters) error {
	if level != nil {
		version := metarec.NewKRaftVersionRecord()
		version.KRaftVersion = *level
		if err := addControl(b, timestampMs, batch.KRaftVersion, version); err != nil {
			return err
		}
	}
	if set == nil {
		return nil
	}
	return addControl(b, timestampMs, batch.KRaftVoters, votersRecord(set))
}

func addControl(b *batch.Builder, timestampMs int64, kind batch.ControlType, m metarec.Message) error {
	value, err := metarec.AppendControlValue(nil, m, 0)
	if err != nil {
		return fmt.Errorf("%v record: %w", kind, err)
	}
	b.AddControl(timestampMs, kind, value)
	return nil
}

func votersRecord(set raft.Voters) *metarec.VotersRecord {
	m := metarec.NewVotersRecord()
	for _, v := range set {
		entry := metarec.VotersRecordVoter{VoterId: int32(v.Key.Node), VoterDirectoryId: v.Key.Dir}
		entry.KRaftVersionFeature.MinSupportedVersion = v.MinLevel
		entry.KRaftVersionFeature.MaxSupportedVersion = v.MaxLevel
		for _, e := range v.Endpoints {
			entry.Endpoints = append(entry.Endpoints, metarec.VotersRecordEndpoint{Name: e.Name, Host: e.Host, Port: e.Port})
		}
		m.Voters = append(m.Voters, entry)
	}
	return m
}

func votersOf(m *metarec.VotersRecord) raft.Voters {
	all := make([]raft.Voter, 0, len(m.Voters))
	for _, entry := range m.Voters {
		v := raft.Voter{
			Key:      kafka.ReplicaKey{Node: kafka.NodeID(entry.VoterId), Dir: entry.VoterDirectoryId},
			MinLevel: entry.KRaftVersionFeature.MinSupportedVersion,
			MaxLevel: entry.KRaftVersionFeature.MaxSupportedVersion,
		}
		for _, e := range entry.Endpoints {
			v.Endpoints = append(v.Endpoints, raft.Endpoint{Name: e.Name, Host: e.Host, Port: e.Port})
		}
		all = append(all, v)
	}
	return raft.NewVoters(all...)
}

// readControl gives the control records of a batch to f, with their offsets.
func readControl(b []byte, f func(offset kafka.Offset, m metarec.Message)) error {
	var d batch.Decoder
	for r, err := range d.Records(b) {
		if err != nil {
			return err
		}
		kind, err := batch.ParseControlKey(r.Key)
		if err != nil {
			return fmt.Errorf("control record at offset %d: %w", r.Offset, err)
		}
		m, _, err := metarec.ReadControlValue(int16(kind), r.Value)
		if err != nil {
			return fmt.Errorf("control record at offset %d: %w", r.Offset, err)
		}
		f(r.Offset, m)
	}
	return nil
}
