package metarec

import "testing"

// benchPartition is the record that clusters hold most of: three replicas,
// with directories and no ELR.
func benchPartition() *PartitionRecord {
	m := NewPartitionRecord()
	m.TopicId = uuids(8)[7]
	m.Replicas, m.Isr, m.Directories = []int32{1, 2, 3}, []int32{1, 2, 3}, uuids(3)
	m.Leader, m.LeaderEpoch, m.PartitionEpoch = 1, 4, 9
	return m
}

// Writing into a buffer that is large enough allocates nothing.
func TestAppendAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1024)
	m := benchPartition()
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := AppendMetadata(buf, m, 2); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%g allocations", allocs)
	}
}

func BenchmarkAppendPartitionRecord(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 1024)
	m := benchPartition()
	for b.Loop() {
		if _, err := AppendMetadata(buf, m, 2); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadPartitionRecord(b *testing.B) {
	b.ReportAllocs()
	frame, err := AppendMetadata(nil, benchPartition(), 2)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if _, _, err := ReadMetadata(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendOffsetCommit(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 1024)
	key := &OffsetCommitKey{Group: "orders-service", Topic: "orders", Partition: 7}
	value := &OffsetCommitValue{Offset: 1 << 40, LeaderEpoch: 4, CommitTimestamp: 1700000000000}
	for b.Loop() {
		out, err := AppendCoordinatorKey(buf, key)
		if err == nil {
			_, err = AppendCoordinatorValue(out, value, 3)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadOffsetCommit(b *testing.B) {
	b.ReportAllocs()
	key, err := AppendCoordinatorKey(nil, &OffsetCommitKey{Group: "orders-service", Topic: "orders", Partition: 7})
	if err != nil {
		b.Fatal(err)
	}
	value, err := AppendCoordinatorValue(nil, NewOffsetCommitValue(), 3)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		k, err := ReadGroupKey(key)
		if err == nil {
			_, _, err = ReadGroupValue(k, value)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
