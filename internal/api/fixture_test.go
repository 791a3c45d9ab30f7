package api

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// still is a View of one image.
type still struct{ img *image.Image }

func (s still) Image() *image.Image { return s.img }

const testCluster = "Y2x1c3RlciBmb3IgdGVz"

// towns is a cluster of four brokers: 1 and 2 run, 3 is fenced, 4 has no
// listener for clients. Controllers are 1 and 9.
func towns(t testing.TB, more ...metarec.Message) still {
	t.Helper()
	recs := []metarec.Message{
		&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 33},
		&metarec.FeatureLevelRecord{Name: image.ElrVersion, FeatureLevel: 1},
	}
	for id := int32(1); id <= 4; id++ {
		recs = append(recs, brokerRecord(id))
	}
	for _, id := range []int32{1, 9} {
		r := metarec.NewRegisterControllerRecord()
		r.ControllerId, r.IncarnationId = id, kafka.UUID{1, byte(id)}
		r.EndPoints = []metarec.RegisterControllerRecordControllerEndpoint{{Name: "CONTROLLER", Host: "quorum", Port: uint16(9000 + id)}}
		recs = append(recs, r)
	}
	img, _, err := image.Apply(image.Empty(), append(recs, more...))
	if err != nil {
		t.Fatal(err)
	}
	return still{img}
}

func brokerRecord(id int32) metarec.Message {
	rack := "rack-" + string(rune('a'+id))
	r := metarec.NewRegisterBrokerRecord()
	r.BrokerId, r.BrokerEpoch, r.Fenced, r.Rack = id, int64(id), id == 3, &rack
	r.LogDirs = []kafka.UUID{{9, byte(id)}}
	r.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "INSIDE", Host: "inner", Port: uint16(9100 + id)}}
	if id != 4 {
		r.EndPoints = append(r.EndPoints, metarec.RegisterBrokerRecordBrokerEndpoint{Name: "PLAINTEXT", Host: "outer", Port: uint16(9200 + id)})
	}
	return r
}

// topicRecords is a topic whose partitions have the replicas given; the first
// one leads, and all are in sync.
func topicRecords(name string, id byte, partitions ...[]int32) []metarec.Message {
	recs := []metarec.Message{&metarec.TopicRecord{Name: name, TopicId: kafka.UUID{id}}}
	for i, replicas := range partitions {
		r := metarec.NewPartitionRecord()
		r.PartitionId, r.TopicId = int32(i), kafka.UUID{id}
		r.Replicas, r.Isr, r.Leader = replicas, replicas, replicas[0]
		r.LeaderEpoch, r.PartitionEpoch = 7, 9
		for _, n := range replicas {
			r.Directories = append(r.Directories, kafka.UUID{9, byte(n)})
		}
		recs = append(recs, r)
	}
	return recs
}

func leaderless(id byte, partition int32) metarec.Message {
	r := metarec.NewPartitionChangeRecord()
	r.TopicId, r.PartitionId, r.Leader, r.Isr = kafka.UUID{id}, partition, -1, []int32{}
	return r
}

// tableOf is the table of broker listeners over a view.
func tableOf(view View, change func(*ClusterDeps)) *Table {
	deps := ClusterDeps{ClusterID: testCluster, Node: 2, View: view, PartitionLimit: 2000}
	if change != nil {
		change(&deps)
	}
	return NewTable(OnBroker, aboutOf(view), ClusterRoutes(deps))
}

func aboutOf(view View) About {
	return About{
		ClusterID: testCluster, Node: 2, View: view,
		Supported:    []image.VersionRange{{Name: image.MetadataVersion, Min: 7, Max: 33}, {Name: image.KRaftVersion, Max: 1}, {Name: image.GroupVersion}},
		KRaftVersion: func() int16 { return 1 },
	}
}

// ask has a table answer a request as if it came through a listener.
func ask[R kmsg.Response](t testing.TB, table *Table, listener string, req kmsg.Request, version int16) R {
	t.Helper()
	req.SetVersion(version)
	service, ok := table.Find(req.Key(), version)
	if !ok {
		t.Fatalf("%T version %d is not served", req, version)
	}
	var got kmsg.Response
	service.Handler(&transport.Request{
		Key: req.Key(), Version: version, Body: req, Ctx: t.Context(),
		Conn: &transport.ConnInfo{Listener: listener},
	}, func(r transport.Reply) { got, _ = r.Message() })
	resp, ok := got.(R)
	if !ok {
		t.Fatalf("answered %T", got)
	}
	if resp.GetVersion() != version && req.Key() != keyApiVersions {
		t.Fatalf("answered at version %d", resp.GetVersion())
	}
	return readBack(t, resp)
}

// readBack sends a response over the wire and back, as a client would see it.
func readBack[R kmsg.Response](t testing.TB, resp R) R {
	t.Helper()
	again := kmsg.ResponseForKey(resp.Key())
	again.SetVersion(resp.GetVersion())
	if err := again.ReadFrom(resp.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	return again.(R)
}

// serveTable starts a listener with a table on the loopback.
func serveTable(t testing.TB, table *Table) (addr string) {
	t.Helper()
	ln := loopback(t)
	serveOn(t, ln, table)
	return ln.Addr().String()
}

func loopback(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func serveOn(t testing.TB, ln net.Listener, table *Table) {
	s := transport.NewServer(transport.Config{})
	s.Serve(ln, transport.ListenerConfig{Name: "PLAINTEXT", Routes: table}).Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Close(ctx)
	})
}

func ptr[T any](v T) *T { return &v }

// noTags lets kmsg's structs be compared.
var noTags = cmpopts.IgnoreUnexported(kmsg.Tags{})

func splitPort(t testing.TB, addr string) (string, uint16) {
	t.Helper()
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return host, uint16(port)
}
