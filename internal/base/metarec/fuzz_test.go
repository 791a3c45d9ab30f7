package metarec

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

func uuids(n int) []kafka.UUID {
	list := make([]kafka.UUID, n)
	for i := range list {
		list[i] = kafka.UUID{14: 1, 15: byte(i)}
	}
	return list
}

// checkStable fails if what was read cannot be written, or if reading that
// again gives another message. The bytes may differ: unknown tagged fields are
// dropped, and a length may have been written with more bytes than needed.
func checkStable(t *testing.T, m Message, version int16) {
	t.Helper()
	once, err := m.AppendTo(nil, version)
	if err != nil {
		t.Fatalf("read but cannot write: %v", err)
	}
	again := ByName(m.MessageName())
	if err := again.ReadFrom(once, version); err != nil {
		t.Fatalf("wrote but cannot read: %v", err)
	}
	twice, err := again.AppendTo(nil, version)
	if err != nil || !bytes.Equal(once, twice) {
		t.Fatalf("wrote %x, then %x, %v", once, twice, err)
	}
	AppendJSON(nil, m, version)
}

func addFrames(f *testing.F, family string, keys bool) {
	for _, g := range goldens(f) {
		if g.Family == family && (family == "metadata" || isKey(g.Name) == keys) {
			f.Add(unhex(f, g.FramedHex))
		}
	}
}

func FuzzReadMetadata(f *testing.F) {
	addFrames(f, "metadata", false)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, version, err := ReadMetadata(b); err == nil {
			checkStable(t, m, version)
		}
	})
}

func FuzzReadRemoteLog(f *testing.F) {
	addFrames(f, "remote-log-metadata", false)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, version, err := ReadRemoteLog(b); err == nil {
			checkStable(t, m, version)
		}
	})
}

// FuzzReadMessage reads every message at every version; the first byte picks
// the message, the second the version.
func FuzzReadMessage(f *testing.F) {
	all := goldens(f)
	for i, g := range all {
		f.Add(uint16(i), g.Version, unhex(f, g.Hex))
	}
	f.Fuzz(func(t *testing.T, pick uint16, version int16, b []byte) {
		m := ByName(all[int(pick)%len(all)].Name)
		if m.ReadFrom(b, version) == nil {
			checkStable(t, m, version)
		}
	})
}

// FuzzReadCoordinator reads keys with the values that may stand beside them.
func FuzzReadCoordinator(f *testing.F) {
	var key []byte
	for _, g := range goldens(f) {
		if g.FramedHex == "" || g.Family == "metadata" {
			continue
		}
		if isKey(g.Name) {
			key = unhex(f, g.FramedHex)
			continue
		}
		f.Add(key, unhex(f, g.FramedHex))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		check := func(readKey func([]byte) (Message, error), readValue func(Message, []byte) (Message, int16, error)) {
			k, err := readKey(key)
			if err != nil {
				return
			}
			checkStable(t, k, 0)
			if v, version, err := readValue(k, value); err == nil && v != nil {
				checkStable(t, v, version)
			}
		}
		check(ReadGroupKey, ReadGroupValue)
		var again GroupReader
		check(again.Key, again.Value)
		check(ReadTxnKey, ReadTxnValue)
		check(ReadShareKey, ReadShareValue)
	})
}

func FuzzReadControlValue(f *testing.F) {
	for i, g := range goldens(f) {
		if g.Family == "control" {
			f.Add(int16(i%7), unhex(f, g.Hex))
		}
	}
	f.Fuzz(func(t *testing.T, controlType int16, value []byte) {
		if m, version, err := ReadControlValue(controlType, value); err == nil {
			checkStable(t, m, version)
		}
	})
}

func FuzzReadQuorumState(f *testing.F) {
	type file struct{ Text string }
	for _, q := range readLines[file](f, "testdata/quorum_state.jsonl") {
		f.Add([]byte(q.Text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		state, version, err := ReadQuorumState(text)
		if err != nil {
			return
		}
		once, err := AppendQuorumState(nil, state, version)
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := ReadQuorumState(once)
		if err != nil || back.LeaderId != state.LeaderId || back.LeaderEpoch != state.LeaderEpoch ||
			back.VotedId != state.VotedId || version == 1 && back.VotedDirectoryId != state.VotedDirectoryId {
			t.Fatalf("%s\nbecame %s, %v", text, once, err)
		}
	})
}

func FuzzReadProducerSnapshot(f *testing.F) {
	f.Add(AppendProducerSnapshot(nil, NewProducerSnapshot()))
	f.Add(AppendProducerSnapshot(nil, &ProducerSnapshot{ProducerEntries: make([]ProducerSnapshotProducerEntry, 2)}))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := ReadProducerSnapshot(file)
		if err == nil && !bytes.Equal(AppendProducerSnapshot(nil, s), file) {
			t.Fatalf("%x is not what is written", file)
		}
	})
}

func FuzzReadAbortedTxn(f *testing.F) {
	f.Add(AppendAbortedTxn(nil, AbortedTxn{1, 2, 3, 4}))
	f.Fuzz(func(t *testing.T, entry []byte) {
		a, err := ReadAbortedTxn(entry)
		if err == nil && !bytes.Equal(AppendAbortedTxn(nil, a), entry) {
			t.Fatalf("%x is not what is written", entry)
		}
	})
}

// FuzzDurableMark: what is read as a mark is written as the same bytes, and the first
// half of it says the offset by itself.
func FuzzDurableMark(f *testing.F) {
	var b [DurableMarkSize]byte
	PutDurableMark(&b, DurableMark{1204, 7})
	f.Add(b[:])
	f.Add(b[:12])
	b[15] ^= 1
	f.Add(b[:])
	PutDurableMark(&b, DurableMark{-1, -7})
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := ReadDurableMark(file)
		if err != nil {
			if m != (DurableMark{0, -1}) || !errors.Is(err, ErrCorrupt) {
				t.Errorf("%x is %+v, %v", file, m, err)
			}
			return
		}
		var again [DurableMarkSize]byte
		PutDurableMark(&again, m)
		same := file
		if m.Epoch < 0 {
			same = file[:12]
		}
		if m.Below < 0 || !bytes.HasPrefix(again[:], same) {
			t.Errorf("%x is %+v, which is %x", file, m, again)
		}
		if old, err := ReadDurableMark(file[:12]); err != nil || old != (DurableMark{m.Below, -1}) {
			t.Errorf("%x is %+v, and the first half of it %+v, %v", file, m, old, err)
		}
	})
}
