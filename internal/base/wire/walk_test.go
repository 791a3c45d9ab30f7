package wire

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What the walk counts is what kmsg takes: a hostile body that is small on the
// wire and large in memory is told by its count.
func TestWalkCountsWhatDecodingTakes(t *testing.T) {
	f := func(name string, req kmsg.Request, version int16) {
		t.Helper()
		req.SetVersion(version)
		body := req.AppendTo(nil)
		counted, err := RequestMemory(req.Key(), version, body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		fresh := kmsg.RequestForKey(req.Key())
		fresh.SetVersion(version)
		taken := allocated(func() {
			if err := fresh.ReadFrom(body); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		// The runtime rounds up to its size classes, a map grows in steps.
		if counted < taken*2/3/raceAllowance || counted > taken*3/2 {
			t.Errorf("%s: %d bytes on the wire, counted %d, took %d", name, len(body), counted, taken)
		}
	}

	metadata := kmsg.NewPtrMetadataRequest()
	offsets := kmsg.NewPtrListOffsetsRequest()
	configs := kmsg.NewPtrDescribeConfigsRequest()
	tags := kmsg.NewPtrMetadataRequest()
	for i := range 9_000 {
		name := ""
		metadata.Topics = append(metadata.Topics, kmsg.MetadataRequestTopic{Topic: &name})
		offsets.Topics = append(offsets.Topics, kmsg.ListOffsetsRequestTopic{Partitions: make([]kmsg.ListOffsetsRequestTopicPartition, 3)})
		configs.Resources = append(configs.Resources, kmsg.DescribeConfigsRequestResource{ConfigNames: make([]string, 7)})
		tags.UnknownTags.Set(uint32(i+100), nil)
	}
	f("empty topic names", metadata, 9)
	f("nested arrays", offsets, 6)
	f("arrays of strings", configs, 4)
	f("unknown tags", tags, 9)
}

func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func TestWalkRefusesAbsurdCounts(t *testing.T) {
	f := func(name string, key, version int16, body []byte, why string) {
		t.Helper()
		_, err := RequestMemory(key, version, body)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, want %q", name, err, why)
		}
	}
	many := append([]byte{0x00, 0x0f, 0x42, 0x41}, make([]byte, 1_000_001)...) // 1,000,001 in front
	f("array", 3, 0, many, "too many array elements")
	f("compact array", 3, 9, append([]byte{0xc2, 0x84, 0x3d}, make([]byte, 1_000_001)...), "too many array elements")
	f("tags", 3, 9, append([]byte{0, 0, 0, 0, 0x91, 0x4e}, make([]byte, 100_000)...), "too many tagged fields")
	f("null array", 0, 3, []byte{0xff, 0xff, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff}, "null array")
	f("null string", 10, 0, []byte{0xff, 0xff}, "null string")
	f("short array", 3, 0, []byte{0, 0, 0, 9, 0, 0}, "body ends early")
	f("unknown key", 4, 0, nil, "no schema")
	f("old version", 0, 2, nil, "no schema")
	f("newer version", 3, 14, nil, "no schema")
}

func TestWalkAllocatesNothing(t *testing.T) {
	for _, g := range goldens(t) {
		if n := testing.AllocsPerRun(1, func() { _, _ = g.memory() }); n > 0 {
			t.Errorf("%v: %v allocations", g, n)
		}
	}
}

// An array element takes at most 64 bytes of memory for each byte it has on the
// wire, and an unknown tag 72: so a body below Small needs no walk.
func TestNoFieldIsDenserThan64(t *testing.T) {
	for _, table := range []*[len(requests)]message{&requests, &responses} {
		for key := range table {
			m := &table[key]
			if m.count == 0 {
				continue
			}
			for version := m.min; version <= m.max; version++ {
				density(t, int16(key), version, version >= m.flex, m.first, m.count)
			}
		}
	}
}

// density returns the fewest bytes a struct takes on the wire.
func density(t *testing.T, key int16, version int8, flexible bool, first uint16, count uint8) int {
	least := 0
	if flexible {
		least++
	}
	for _, f := range fields[first : first+uint16(count)] {
		if version < f.from || version > f.to || f.tag >= 0 {
			continue
		}
		element := int(f.kind &^ kindArray)
		switch f.kind &^ kindArray {
		case kindString, kindBytes:
			element = 1
			if !flexible {
				element = 2
			}
		case kindStruct:
			element = density(t, key, version, flexible, f.first, f.count)
		}
		if f.kind&kindArray == 0 {
			least += element
			continue
		}
		if int(f.memory) > 64*element {
			t.Errorf("key %d version %d: %d bytes of memory for %d", key, version, f.memory, element)
		}
		if flexible {
			least++
		} else {
			least += 4
		}
	}
	return least
}

func BenchmarkWalkFetch(b *testing.B) {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(17)
	for range 10 {
		t := kmsg.NewFetchRequestTopic()
		t.Partitions = make([]kmsg.FetchRequestTopicPartition, 10)
		req.Topics = append(req.Topics, t)
	}
	body := req.AppendTo(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := RequestMemory(1, 17, body); err != nil {
			b.Fatal(err)
		}
	}
}
