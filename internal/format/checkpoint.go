package format

import (
	"fmt"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// checkpoint is the file a controller begins with, three batches at epoch 0:
//
//	control  SnapshotHeader [KRaftVersion when above 0] [KRaftVoters when known]
//	data     metadata.version, the other features by name, SCRAM users
//	control  SnapshotFooter
func checkpoint(l levels, voters []Voter, listener string, scram []*metarec.UserScramCredentialRecord, now time.Time) ([]byte, error) {
	c := &checkpointer{nowMs: now.UnixMilli()}
	head := []control{{batch.SnapshotHeader, &metarec.SnapshotHeaderRecord{LastContainedLogTimestamp: c.nowMs}}}
	if l.kraft > 0 {
		head = append(head, control{batch.KRaftVersion, &metarec.KRaftVersionRecord{KRaftVersion: l.kraft}})
	}
	if len(voters) > 0 {
		head = append(head, control{batch.KRaftVoters, votersRecord(voters, listener)})
	}
	c.controls(head...)

	records := []metarec.Message{featureLevel(image.MetadataVersion, int16(l.metadata))}
	for _, f := range l.others {
		records = append(records, featureLevel(f.name, f.level))
	}
	for _, s := range scram {
		records = append(records, s)
	}
	c.data(records)
	c.controls(control{batch.SnapshotFooter, &metarec.SnapshotFooterRecord{}})
	return c.bytes, c.err
}

func featureLevel(name string, level int16) *metarec.FeatureLevelRecord {
	return &metarec.FeatureLevelRecord{Name: name, FeatureLevel: level}
}

// votersRecord names the voters with the one endpoint that is known of each.
func votersRecord(voters []Voter, listener string) *metarec.VotersRecord {
	record := &metarec.VotersRecord{}
	for _, v := range voters {
		record.Voters = append(record.Voters, metarec.VotersRecordVoter{
			VoterId: int32(v.Node), VoterDirectoryId: v.Dir,
			Endpoints:           []metarec.VotersRecordEndpoint{{Name: listener, Host: v.Host, Port: v.Port}},
			KRaftVersionFeature: metarec.VotersRecordKRaftVersionFeature{MinSupportedVersion: 0, MaxSupportedVersion: 1},
		})
	}
	return record
}

type control struct {
	kind    batch.ControlType
	message metarec.Message
}

// checkpointer writes batches one behind the other and keeps the first error.
type checkpointer struct {
	bytes []byte
	next  kafka.Offset
	nowMs int64
	err   error
}

func (c *checkpointer) controls(records ...control) {
	b := batch.NewBuilder(batch.Options{BaseOffset: c.next, Control: true})
	for _, r := range records {
		value, err := metarec.AppendControlValue(nil, r.message, 0)
		if err != nil {
			c.fail(r.message, err)
			return
		}
		b.AddControl(c.nowMs, r.kind, value)
	}
	c.add(b)
}

func (c *checkpointer) data(records []metarec.Message) {
	b := batch.NewBuilder(batch.Options{BaseOffset: c.next})
	for _, r := range records {
		value, err := metarec.AppendMetadata(nil, r, 0)
		if err != nil {
			c.fail(r, err)
			return
		}
		b.Add(c.nowMs, nil, value)
	}
	c.add(b)
}

func (c *checkpointer) add(b *batch.Builder) {
	c.next += kafka.Offset(b.Len())
	c.bytes = b.Build(c.bytes)
}

func (c *checkpointer) fail(m metarec.Message, err error) {
	if c.err == nil {
		c.err = fmt.Errorf("write %s: %w", m.MessageName(), err)
	}
}
