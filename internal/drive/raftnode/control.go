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

// controlBatch writes the batch that begins a leader's epoch. Control records
// are written in version 0, as Kafka up to 4.4 does and reads.
func controlBatch(a raft.Append, timestampMs int64) ([]byte, error) {
	b := batch.NewBuilder(batch.Options{BaseOffset: a.Base, LeaderEpoch: a.Epoch, Control: true})
	change := metarec.NewLeaderChangeMessage()
	change.LeaderId = int32(a.Control.Leader)
	for _, id := range a.Control.Voters {
		change.Voters = append(change.Voters, metarec.LeaderChangeMessageVoter{VoterId: int32(id)})
	}
	for _, id := range a.Control.Granting {
		change.GrantingVoters = append(change.GrantingVoters, metarec.LeaderChangeMessageVoter{VoterId: int32(id)})
	}
	if err := addControl(b, timestampMs, batch.LeaderChange, change); err != nil {
		return nil, err
	}
	if a.Control.Level != nil {
		if err := addQuorumShape(b, timestampMs, *a.Control.Level, a.Control.Set); err != nil {
			return nil, err
		}
	}
	return b.Build(nil), nil
}

// addQuorumShape adds kraft.version and, when there is one, the voter set.
func addQuorumShape(b *batch.Builder, timestampMs int64, level int16, set raft.Voters) error {
	version := metarec.NewKRaftVersionRecord()
	version.KRaftVersion = level
	if err := addControl(b, timestampMs, batch.KRaftVersion, version); err != nil || set == nil {
		return err
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
