package api

import (
	"bytes"
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/edge/transport"
)

// dataRig is a broker's replicas on a disk in memory and the handlers of the
// APIs about records, without a network.
type dataRig struct {
	*testbed.Bed
	t     testing.TB
	fetch *fetch
}

func newDataRig(t testing.TB) *dataRig { return newDataRigOn(t, vfs.NewMem(), "/data") }

func newDataRigOn(t testing.TB, disk vfs.FS, root string) *dataRig {
	return newDataRigOver(t, testbed.New(t, disk, root, 1))
}

// newDataRigWith changes the bed before it starts.
func newDataRigWith(t testing.TB, change func(*testbed.Bed)) *dataRig {
	bed := testbed.New(t, vfs.NewMem(), "/data", 1)
	change(bed)
	return newDataRigOver(t, bed)
}

func newDataRigOver(t testing.TB, bed *testbed.Bed) *dataRig {
	bed.Start()
	return &dataRig{Bed: bed, t: t, fetch: newFetch(DataDeps{Partitions: bed.Manager, Timers: bed.Timers, FetchMaxBytes: 1 << 20, SessionSlots: 3})}
}

// deleteTopic deletes a topic.
func (r *dataRig) deleteTopic(id kafka.TopicID) {
	r.Apply(&metarec.RemoveTopicRecord{TopicId: id})
	r.Publish()
}

func (r *dataRig) request(req kmsg.Request, version int16) *transport.Request {
	req.SetVersion(version)
	return &transport.Request{
		Key: req.Key(), Version: version, ClientID: "client", Body: req, Ctx: context.Background(),
		Conn: &transport.ConnInfo{Listener: "PLAINTEXT"},
	}
}

// begin starts a request; what it replies comes through the channel.
func (r *dataRig) begin(route Route, req kmsg.Request, version int16) <-chan transport.Reply {
	replies := make(chan transport.Reply, 2)
	route.Serve(r.request(req, version), func(reply transport.Reply) { replies <- reply })
	return replies
}

// do serves a request and waits for the answer.
func do[R kmsg.Response](r *dataRig, route Route, req kmsg.Request, version int16) R {
	r.t.Helper()
	reply := <-r.begin(route, req, version)
	m, ok := reply.Message()
	if !ok {
		r.t.Fatalf("no message: %+v", reply)
	}
	m.SetVersion(version)
	return m.(R)
}

// lines is a batch of one record for each value.
func lines(opt batch.Options, values ...string) []byte {
	w := batch.NewBuilder(opt)
	for _, v := range values {
		w.Add(1000, []byte("key"), []byte(v))
	}
	return w.Build(nil)
}

// append puts batches into a partition.
func (r *dataRig) append(topic string, n int, batches ...[]byte) {
	r.t.Helper()
	for _, b := range batches {
		if _, err := r.Find(topic, n).Append(b, true); err != nil {
			r.t.Fatal(err)
		}
	}
}

// produceRequest sends one batch to a partition of a topic by name and by id.
func produceRequest(acks int16, topic string, id kafka.TopicID, n int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 30_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, id
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = n, records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// fetchRequest asks for partition 0 of topics from offset 0 on, and does not
// wait.
func fetchRequest(topics ...kmsg.FetchRequestTopic) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis, req.Topics = 1<<20, 1, 0, topics
	req.SessionEpoch = sessionFinal
	return req
}

// from is a topic to fetch: each pair is a partition and an offset.
func from(topic string, id kafka.TopicID, pairs ...int) kmsg.FetchRequestTopic {
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, id
	for i := 0; i+1 < len(pairs); i += 2 {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(pairs[i]), int64(pairs[i+1]), 1<<20
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// startFetch serves a fetch; the answer, read back by kmsg, comes through the
// channel.
func (r *dataRig) startFetch(req *kmsg.FetchRequest, version int16) (*transport.Request, <-chan *kmsg.FetchResponse) {
	answers := make(chan *kmsg.FetchResponse, 2)
	in := r.request(req, version)
	r.fetch.serve(in, func(body []transport.Part, release func()) {
		defer release()
		answers <- r.decode(body, version)
	})
	return in, answers
}

func (r *dataRig) decode(body []transport.Part, version int16) *kmsg.FetchResponse {
	var b bytes.Buffer
	for _, p := range body {
		if p.File == nil {
			b.Write(p.Bytes)
			continue
		}
		chunk := make([]byte, p.Len)
		if _, err := p.File.ReadAt(chunk, p.Off); err != nil {
			r.t.Error(err)
		}
		b.Write(chunk)
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = version
	if err := resp.ReadFrom(b.Bytes()); err != nil {
		r.t.Errorf("version %d: %v in %x", version, err, b.Bytes())
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, b.Bytes()) {
		r.t.Errorf("version %d: kmsg writes\n%x\nand we\n%x", version, again, b.Bytes())
	}
	return resp
}

func (r *dataRig) fetched(req *kmsg.FetchRequest, version int16) *kmsg.FetchResponse {
	_, answers := r.startFetch(req, version)
	return <-answers
}

// values are the values of all records in whole batches.
func values(t testing.TB, b []byte) (list []string) {
	t.Helper()
	var d batch.Decoder
	for _, whole := range batch.All(b) {
		for r, err := range d.Records(whole) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(r.Value))
		}
	}
	return list
}

func codeIs(t testing.TB, what string, got int16, want kerr.Code) {
	t.Helper()
	if kerr.Code(got) != want {
		t.Errorf("%s: %v, want %v", what, kerr.Code(got), want)
	}
}

// partsOf is the body of an answer.
type partsOf = []transport.Part

func contextOf(r *transport.Request) (context.Context, context.CancelFunc) {
	return context.WithCancel(r.Ctx)
}

// swallow takes an answer that nobody reads.
func (r *dataRig) swallow(answered chan<- struct{}) func(partsOf, func()) {
	return func(_ partsOf, release func()) {
		release()
		close(answered)
	}
}
