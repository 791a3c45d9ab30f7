package metarec

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// The JSON form is the text Kafka's converters give, field order included.
func TestJSONEqualsKafkas(t *testing.T) {
	for _, g := range goldens(t) {
		m := ByName(g.Name)
		if err := m.ReadFrom(unhex(t, g.Hex), g.Version); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendJSON(nil, m, g.Version)); got != string(g.JSON) {
			t.Errorf("%s:\n got %s\nwant %s", g, got, g.JSON)
		}
	}
}

func TestJSONOfOddValues(t *testing.T) {
	f := func(value float64, want string) {
		t.Helper()
		m := NewClientQuotaRecord()
		m.Value = value
		if got := string(AppendJSON(nil, m, 0)); !strings.Contains(got, `"value":`+want+`,`) {
			t.Errorf("value %g: got %s", value, got)
		}
	}
	f(1048576, "1048576.0")
	f(-2, "-2.0")
	f(0.25, "0.25")
	f(1e300, "1e+300")
	f(math.Inf(1), `"+Inf"`)
	f(math.NaN(), `"NaN"`)

	name := NewTopicRecord()
	name.Name = `<a>&"` + "\x01"
	if got := string(AppendJSON(nil, name, 0)); !strings.Contains(got, `"<a>&\"\u0001"`) {
		t.Error(got)
	}
}

// A quorum-state file has the text Kafka gives it and is read back from it.
func TestQuorumStateEqualsKafkas(t *testing.T) {
	type file struct {
		State, Text  string
		KRaftVersion int16
	}
	for _, f := range readLines[file](t, "testdata/quorum_state.jsonl") {
		state, version, err := ReadQuorumState([]byte(f.Text))
		if err != nil || version != f.KRaftVersion {
			t.Fatalf("%s: version %d, %v", f.State, version, err)
		}
		got, err := AppendQuorumState(nil, state, version)
		if err != nil || string(got) != f.Text {
			t.Errorf("%s: %v\n got %s\nwant %s", f.State, err, got, f.Text)
		}
	}
}

func TestQuorumStateRefusals(t *testing.T) {
	f := func(text string, want error, words string) {
		t.Helper()
		_, _, err := ReadQuorumState([]byte(text))
		if !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	f(``, ErrCorrupt, "unexpected end")
	f(`[]`, ErrCorrupt, "array")
	f(`{"leaderId":1,"leaderEpoch":1,"votedId":-1}`, ErrCorrupt, "no data_version")
	f(`{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":2}`, ErrVersion, "is 2")
	f(`{"leaderId":1,"votedId":-1,"data_version":0}`, ErrCorrupt, "no leaderEpoch")
	f(`{"leaderId":1,"leaderEpoch":1,"votedId":null,"data_version":0}`, ErrCorrupt, "no votedId")
	f(`{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":1}`, ErrCorrupt, "no votedDirectoryId")
	f(`{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"x","data_version":1}`, ErrCorrupt, "not an id")
	f(`{"leaderId":99999999999,"leaderEpoch":1,"votedId":-1,"data_version":0}`, ErrCorrupt, "leaderId")
	if _, err := AppendQuorumState(nil, NewQuorumStateData(), 2); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
}

func TestProducerSnapshotFile(t *testing.T) {
	s := &ProducerSnapshot{ProducerEntries: []ProducerSnapshotProducerEntry{{ProducerId: 7, LastOffset: 41, CurrentTxnFirstOffset: -1}}}
	file := AppendProducerSnapshot([]byte("x"), s)[1:]
	back, err := ReadProducerSnapshot(file)
	if err != nil || len(back.ProducerEntries) != 1 || back.ProducerEntries[0] != s.ProducerEntries[0] || back.Crc != s.Crc {
		t.Fatalf("read %+v, %v", back, err)
	}
	for i := range file {
		bad := bytes.Clone(file)
		bad[i] ^= 0x10
		if _, err := ReadProducerSnapshot(bad); err == nil {
			t.Errorf("byte %d flipped: no error", i)
		}
		if _, err := ReadProducerSnapshot(file[:i]); err == nil {
			t.Errorf("cut at byte %d: no error", i)
		}
	}
	// The file of a partition that no producer wrote to, as Kafka leaves it.
	empty := AppendProducerSnapshot(nil, NewProducerSnapshot())
	if want := unhex(t, "000148674bc700000000"); !bytes.Equal(empty, want) {
		t.Errorf("empty snapshot is %x, want %x", empty, want)
	}
}

func TestAbortedTxnEntry(t *testing.T) {
	want := AbortedTxn{ProducerId: 1, FirstOffset: 2, LastOffset: 3, LastStableOffset: 4}
	entry := AppendAbortedTxn(nil, want)
	if len(entry) != AbortedTxnSize {
		t.Fatalf("entry has %d bytes", len(entry))
	}
	if got, err := ReadAbortedTxn(entry); err != nil || got != want {
		t.Fatalf("read %+v, %v", got, err)
	}
	if _, err := ReadAbortedTxn(entry[:AbortedTxnSize-1]); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	entry[1] = 1
	if _, err := ReadAbortedTxn(entry); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
}

// Values of control records, led by a version in the one way or the other.
func TestControlValuesEqualKafkas(t *testing.T) {
	f := func(controlType int16, m Message, want string) {
		t.Helper()
		got, err := AppendControlValue(nil, m, 0)
		if err != nil || !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("%s: wrote %x, %v", m.MessageName(), got, err)
		}
		back, version, err := ReadControlValue(controlType, unhex(t, want))
		if err != nil || version != 0 || back.MessageName() != m.MessageName() {
			t.Errorf("%s: read %v at version %d, %v", m.MessageName(), back, version, err)
		}
	}
	f(ControlAbort, &EndTxnMarker{CoordinatorEpoch: 21}, "000000000015")
	f(ControlCommit, &EndTxnMarker{CoordinatorEpoch: 21}, "000000000015")
	f(2, &LeaderChangeMessage{
		LeaderId:       12,
		Voters:         []LeaderChangeMessageVoter{{VoterId: 11}, {VoterId: 12}, {VoterId: 13}},
		GrantingVoters: []LeaderChangeMessageVoter{{VoterId: 12}, {VoterId: 13}},
	}, "00000000000c040000000b000000000c000000000d00030000000c000000000d0000")
	f(3, &SnapshotHeaderRecord{LastContainedLogTimestamp: 1700000000000}, "00000000018bcfe5680000")
	f(4, &SnapshotFooterRecord{}, "000000")
	f(5, &KRaftVersionRecord{KRaftVersion: 1}, "0000000100")
	f(6, &VotersRecord{Voters: []VotersRecordVoter{{
		VoterId: 11, VoterDirectoryId: kafka.UUID{15: 11},
		Endpoints:           []VotersRecordEndpoint{{Name: "CONTROLLER", Host: "host-11.example", Port: 9093}},
		KRaftVersionFeature: VotersRecordKRaftVersionFeature{MaxSupportedVersion: 1},
	}}}, "0000020000000b0000000000000000000000000000000b020b434f4e54524f4c4c455210686f73742d31312e6578616d706c6523850000000001000000")

	if _, err := AppendControlValue(nil, NewTopicRecord(), 0); !errors.Is(err, ErrUnknownType) {
		t.Error(err)
	}
	if _, _, err := ReadControlValue(7, make([]byte, 8)); !errors.Is(err, ErrUnknownType) {
		t.Error(err)
	}
}
