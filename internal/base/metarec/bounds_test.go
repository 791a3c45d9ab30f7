package metarec

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

// A body that ends early, anywhere, is corrupt; it never reads as something.
func TestEveryCutIsCorrupt(t *testing.T) {
	for _, g := range goldens(t) {
		whole := unhex(t, g.Hex)
		for end := range whole {
			if err := ByName(g.Name).ReadFrom(whole[:end], g.Version); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s cut at byte %d: %v", g, end, err)
			}
		}
		if err := ByName(g.Name).ReadFrom(append(whole, 0), g.Version); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s with a byte too many: %v", g, err)
		}
	}
}

// A length is compared with the bytes that are left before it is believed.
func TestLengthsAreBounded(t *testing.T) {
	f := func(name string, version int16, hexBody string) {
		t.Helper()
		body := unhex(t, hexBody)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := ByName(name).ReadFrom(body, version)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		// The message and the error, but no list of 16 million.
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 64<<10 {
			t.Errorf("%s: %d bytes allocated", name, bytes)
		}
	}
	f("TopicRecord", 0, "ffffffff07"+"6161")                        // string
	f("TopicRecord", 0, "ffffffffff7f")                             // integer of more than 32 bits
	f("ClientQuotaRecord", 0, "80808008"+"00000000")                // array of structures
	f("ClientQuotaRecord", 0, "04"+"02610000"+"02620000"+"00")      // one element more than fits
	f("UserScramCredentialRecord", 0, "0261"+"01"+"ffffff7f"+"00")  // bytes
	f("ConsumerProtocolSubscription", 0, "7fffffff"+"00")           // array with an int32 length
	f("ConsumerProtocolSubscription", 0, "80000000"+"00")           // negative length
	f("ConsumerProtocolSubscription", 0, "ffffffff"+"ffffffff")     // null where there is none
	f("NoOpRecord", 0, "ffffff7f"+"0000")                           // number of tagged fields
	f("NoOpRecord", 0, "01"+"00"+"7f"+"00")                         // size of a tagged field
	f("BeginTransactionRecord", 0, "01"+"00"+"03"+"026100")         // tagged field longer than its value
	f("BeginTransactionRecord", 0, "01"+"00"+"01"+"0261")           // and shorter
	f("ConsumerGroupMemberMetadataValue", 0, "00000101"+"ffffff7f") // array of strings
}

// Tagged fields that this node does not know are skipped, whatever they hold.
func TestUnknownTagsAreSkipped(t *testing.T) {
	m := NewBeginTransactionRecord()
	if err := m.ReadFrom(unhex(t, "03"+"00"+"03"+"036162"+"05"+"02"+"ffff"+"8001"+"00"), 0); err != nil {
		t.Fatal(err)
	}
	if m.Name == nil || *m.Name != "ab" {
		t.Errorf("name is %v", m.Name)
	}
	if err := NewNoOpRecord().ReadFrom(unhex(t, "01"+"07"+"01"+"aa"), 0); err != nil {
		t.Error(err)
	}
}

// Of a member of a consumer group Kafka writes the classic part as a tagged
// field with the value null if there is none, and leaves the field out if the
// part has nothing but defaults. Reading must tell the two apart.
func TestTaggedStructureMayBeNull(t *testing.T) {
	f := func(classic *ConsumerGroupMemberMetadataValueClassicMemberMetadata, want string) {
		t.Helper()
		empty := ""
		m := NewConsumerGroupMemberMetadataValue()
		m.InstanceId, m.RackId, m.SubscribedTopicRegex, m.ServerAssignor = &empty, &empty, &empty, &empty
		m.ClassicMemberMetadata = classic
		got, err := m.AppendTo(nil, 0)
		if err != nil || !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("wrote %x, %v", got, err)
		}
		back := NewConsumerGroupMemberMetadataValue()
		if err := back.ReadFrom(unhex(t, want), 0); err != nil || (back.ClassicMemberMetadata == nil) != (classic == nil) {
			t.Errorf("read %+v, %v", back.ClassicMemberMetadata, err)
		}
	}
	f(NewConsumerGroupMemberMetadataValue().ClassicMemberMetadata, "010101010101ffffffff0100")
	f(nil, "010101010101ffffffff0101000100")
	f(&ConsumerGroupMemberMetadataValueClassicMemberMetadata{SessionTimeoutMs: 5}, "010101010101ffffffff0101000701000000050100")
}

// A tagged field of 128 bytes or more needs a size of two bytes.
func TestLongTaggedField(t *testing.T) {
	for _, n := range []int{126, 127, 128, 16383, 16384, 20000} {
		long := strings.Repeat("n", n)
		body, err := (&AbortTransactionRecord{Reason: &long}).AppendTo([]byte("head"), 0)
		if err != nil {
			t.Fatal(err)
		}
		back := NewAbortTransactionRecord()
		if err := back.ReadFrom(body[4:], 0); err != nil || back.Reason == nil || *back.Reason != long {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A field that a version has no room for is refused unless it may be lost.
func TestFieldsAbsentAtAVersion(t *testing.T) {
	f := func(m Message, version int16, field string) {
		t.Helper()
		got, err := m.AppendTo([]byte("head"), version)
		if field == "" {
			if err != nil {
				t.Errorf("%s: %v", m.MessageName(), err)
			}
			return
		}
		if !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), field) || string(got) != "head" {
			t.Errorf("%s version %d: %q, %v; want %s refused", m.MessageName(), version, got, err, field)
		}
	}
	f(&RegisterBrokerRecord{InControlledShutdown: true}, 0, "InControlledShutdown")
	f(&RegisterBrokerRecord{LogDirs: uuids(1)}, 2, "LogDirs")
	f(&RegisterBrokerRecord{LogDirs: uuids(1), CordonedLogDirs: uuids(0)}, 3, "CordonedLogDirs")
	f(&RegisterBrokerRecord{LogDirs: uuids(1), CordonedLogDirs: uuids(0)}, 4, "")
	f(&PartitionRecord{Directories: uuids(3)}, 0, "Directories")
	f(&QuorumStateData{ClusterId: "x"}, 1, "ClusterId")
	f(&QuorumStateData{VotedDirectoryId: uuids(1)[0]}, 0, "VotedDirectoryId")
	f(&OffsetCommitValue{LeaderEpoch: 4, ExpireTimestamp: 5, TopicId: uuids(1)[0]}, 0, "") // all may be lost
	f(&TransactionLogValue{PreviousProducerId: 4, NextProducerId: -1, NextProducerEpoch: -1}, 0, "PreviousProducerId")
}

func TestStringsHaveALimit(t *testing.T) {
	long := strings.Repeat("x", math.MaxInt16)
	if _, err := (&TopicRecord{Name: long}).AppendTo(nil, 0); err != nil {
		t.Error(err)
	}
	if got, err := (&TopicRecord{Name: long + "x"}).AppendTo([]byte("head"), 0); err == nil || string(got) != "head" {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestVersionsOutsideTheRange(t *testing.T) {
	for _, version := range []int16{-1, 5, math.MaxInt16} {
		if _, err := NewRegisterBrokerRecord().AppendTo(nil, version); !errors.Is(err, ErrVersion) {
			t.Errorf("write version %d: %v", version, err)
		}
		if err := NewRegisterBrokerRecord().ReadFrom(nil, version); !errors.Is(err, ErrVersion) {
			t.Errorf("read version %d: %v", version, err)
		}
	}
}

func TestFramesThatAreNone(t *testing.T) {
	f := func(hexFrame string, want error) {
		t.Helper()
		if _, _, err := ReadMetadata(unhex(t, hexFrame)); !errors.Is(err, want) {
			t.Errorf("frame %s: %v", hexFrame, err)
		}
	}
	f("", ErrCorrupt)
	f("01", ErrCorrupt)
	f("0114", ErrCorrupt)
	f("01808004", ErrCorrupt) // type above 32767
	f("02140000", ErrVersion) // frame version
	f("01060000", ErrUnknownType)
	f("01140100", ErrVersion)   // version 1 of NoOpRecord
	f("0114000000", ErrCorrupt) // a byte too many

	if _, err := ReadGroupKey(unhex(t, "0009")); !errors.Is(err, ErrUnknownType) {
		t.Error(err)
	}
	if _, err := ReadTxnKey(unhex(t, "00")); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if m, _, err := ReadGroupValue(NewOffsetCommitKey(), nil); m != nil || err != nil {
		t.Errorf("tombstone: %v, %v", m, err)
	}
	if _, _, err := ReadGroupValue(NewOffsetCommitKey(), []byte{}); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// Reading keeps nothing of its source, and an old message leaves no trace.
func TestReadFromReplacesTheMessage(t *testing.T) {
	src := unhex(t, "0361620000000000000000000000000000000000"+"0000")[:20]
	m := &TopicRecord{Name: "old", TopicId: uuids(1)[0]}
	if err := m.ReadFrom(src, 0); err != nil {
		t.Fatal(err)
	}
	clear(src)
	if m.Name != "ab" || !m.TopicId.IsZero() {
		t.Errorf("read %+v", m)
	}
	change := &PartitionChangeRecord{Leader: 3, Isr: []int32{1}}
	if err := change.ReadFrom(unhex(t, "ffffffff0000000000000000000000000000000000"), 0); err != nil {
		t.Fatal(err)
	}
	if change.Leader != -2 || change.Isr != nil {
		t.Errorf("read %+v", change)
	}
}
