package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/edge/transport"
)

// BenchmarkMetadata describes one topic of 10 partitions, decoded request to
// reply.
func BenchmarkMetadata(b *testing.B) {
	partitions := make([][]int32, 10)
	for i := range partitions {
		partitions[i] = []int32{1, 2}
	}
	table := tableOf(towns(b, topicRecords("two", 0x22, partitions...)...), nil)
	service, _ := table.Find(3, 13)
	req := named("two")
	req.SetVersion(13)
	r := &transport.Request{Key: 3, Version: 13, Body: req, Ctx: b.Context(), Conn: &transport.ConnInfo{Listener: "PLAINTEXT"}}
	b.ReportAllocs()
	for b.Loop() {
		service.Handler(r, func(transport.Reply) {})
	}
}

// BenchmarkApiVersions is the first request of every connection.
func BenchmarkApiVersions(b *testing.B) {
	table := tableOf(towns(b), nil)
	service, _ := table.Find(keyApiVersions, 4)
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(4)
	req.ClientSoftwareName, req.ClientSoftwareVersion = "bench", "1"
	r := &transport.Request{Key: keyApiVersions, Version: 4, Body: req, Ctx: b.Context(), Conn: &transport.ConnInfo{}}
	b.ReportAllocs()
	for b.Loop() {
		service.Handler(r, func(transport.Reply) {})
	}
}
