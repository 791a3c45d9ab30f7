package interop

import (
	"log/slog"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/txn"
	"github.com/ottla/ottla/internal/drive/brokernode/txnverify"
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/ottla/ottla/internal/itest"
)

// A leader of ours adds partitions to the transactions of modern producers, with a
// coordinator of Apache Kafka at transaction.version 2 (KIP-890 part 2). No node of
// ours is in a cluster of that level yet, so what asks is the part of a broker that
// does.
func TestApacheKafkaAddsThePartitionsThatLeadersAskFor(t *testing.T) {
	t.Parallel()
	const state = "transaction.state.log.num.partitions=3\ntransaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1"
	d := itest.OneNode.NewDev(t)
	file := d.Files(t, state)[0]
	itest.MustKafkaTool(t, "", "kafka-storage", "format", "-c", file, "-t", clusterID)
	itest.StartKafka(t, file)
	itest.AwaitPort(t, d.Addr)
	cl := connect(t, d.Addr)
	admin := kadm.NewClient(cl)
	itest.Eventually(t, func() error {
		_, err := admin.CreateTopic(t.Context(), 2, 1, nil, "t")
		return err
	})
	id, start := "app", kmsg.NewPtrInitProducerIDRequest()
	start.TransactionalID, start.TransactionTimeoutMillis, start.ProducerID, start.ProducerEpoch = &id, 60_000, -1, -1
	mine := txn.Transaction{ID: id, Adds: true}
	itest.Eventually(t, func() error { // until __transaction_state is there
		resp, err := ask[*kmsg.InitProducerIDResponse](cl, start)
		if err != nil {
			return err
		}
		mine.Producer, mine.Epoch = kafka.ProducerID(resp.ProducerID), resp.ProducerEpoch
		return code(resp.ErrorCode)
	})
	peers := transport.NewPool(transport.ClientConfig{ClientID: "leader"})
	defer peers.Close()
	img := coordinatedAt(t, d.Addr, 3)
	v := txnverify.New(txnverify.Config{
		Self: 7, Listener: "PLAINTEXT", Image: func() *image.Image { return img }, Peers: peers, Timeout: itest.Stuck,
		Pause: 20 * time.Millisecond, Patience: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	defer v.Close()
	told := func(what string, x txn.Transaction, partitions []kafka.PartitionID, want ...kerr.Code) {
		t.Helper()
		var list []kafka.TopicPartition
		for _, p := range partitions {
			list = append(list, kafka.TopicPartition{Topic: "t", Partition: p})
		}
		var got []kerr.Code
		for _, err := range v.Ask(t.Context(), txn.Adding, x, list) {
			got = append(got, kerr.Of(err))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: producers are told %v, want %v", what, got, want)
		}
	}
	only, fenced, stranger := mine, mine, mine
	only.Adds, fenced.Epoch, stranger.Producer = false, mine.Epoch+1, mine.Producer+1000
	told("before anything", only, []kafka.PartitionID{0}, kerr.TransactionAbortable)
	told("to be added", mine, []kafka.PartitionID{0}, kerr.None)
	told("once more", mine, []kafka.PartitionID{0}, kerr.None)
	told("one of two", only, []kafka.PartitionID{0, 1}, kerr.None, kerr.TransactionAbortable)
	told("another epoch", fenced, []kafka.PartitionID{0}, kerr.InvalidProducerEpoch)
	told("another producer", stranger, []kafka.PartitionID{0}, kerr.InvalidProducerIdMapping)
	described, err := admin.DescribeTransactions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if d := described[id]; d.State != "Ongoing" || len(d.Topics) != 1 || !d.Topics.Lookup("t", 0) || d.Topics.Lookup("t", 1) {
		t.Errorf("the coordinator describes %+v", d)
	}
}

// coordinatedAt is metadata in which one broker leads all of __transaction_state.
func coordinatedAt(t *testing.T, addr string, partitions int) *image.Image {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	b := metarec.NewRegisterBrokerRecord()
	b.BrokerId, b.BrokerEpoch, b.IncarnationId, b.Fenced = 1, 1, kafka.UUID{15: 1}, false
	b.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: host, Port: uint16(n)}}
	topic := kafka.TopicID{15: 9}
	records := []metarec.Message{b, &metarec.TopicRecord{Name: kafka.TransactionStateTopic, TopicId: topic}}
	for p := range partitions {
		r := metarec.NewPartitionRecord()
		r.TopicId, r.PartitionId, r.Leader = topic, int32(p), 1
		r.Replicas, r.Isr, r.Directories = []int32{1}, []int32{1}, []kafka.UUID{{15: 1}}
		records = append(records, r)
	}
	img, _, err := image.Apply(image.Empty(), records)
	if err != nil {
		t.Fatal(err)
	}
	return img
}
