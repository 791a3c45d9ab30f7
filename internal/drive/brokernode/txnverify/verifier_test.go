package txnverify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/txn"
	"github.com/ottla/ottla/internal/edge/transport"
)

const (
	self  kafka.NodeID = 1
	other kafka.NodeID = 2 // coordinates all transactions
)

// flight is a request on its way to the coordinator.
type flight struct {
	addr  string
	least int16
	req   *kmsg.AddPartitionsToTxnRequest
	done  func(kmsg.Response, error)
}

// peers stands for the network: the test answers what is sent.
type peers chan flight

func (p peers) SendSince(_ context.Context, addr string, least int16, req kmsg.Request, done func(kmsg.Response, error)) {
	p <- flight{addr, least, req.(*kmsg.AddPartitionsToTxnRequest), done}
}

// agrees answers with a code for each partition.
func (f flight) agrees(code kerr.Code) {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	for _, in := range f.req.Transactions {
		out := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: in.TransactionalID}
		for _, topic := range in.Topics {
			t := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: topic.Topic}
			for _, n := range topic.Partitions {
				t.Partitions = append(t.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: n, ErrorCode: int16(code)})
			}
			out.Topics = append(out.Topics, t)
		}
		resp.Transactions = append(resp.Transactions, out)
	}
	f.done(resp, nil)
}

func (f flight) String() string {
	var out []string
	for _, t := range f.req.Transactions {
		line := fmt.Sprintf("%s %d.%d verify=%v", t.TransactionalID, t.ProducerID, t.ProducerEpoch, t.VerifyOnly)
		for _, topic := range t.Topics {
			line += fmt.Sprintf(" %s%v", topic.Topic, topic.Partitions)
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

// cluster is metadata in which a broker leads all of __transaction_state.
func cluster(t *testing.T, leader kafka.NodeID) *image.Image {
	t.Helper()
	id := kafka.TopicID{15: 9}
	records := []metarec.Message{&metarec.TopicRecord{Name: kafka.TransactionStateTopic, TopicId: id}}
	for _, node := range []kafka.NodeID{self, other} {
		b := metarec.NewRegisterBrokerRecord()
		b.BrokerId, b.BrokerEpoch, b.IncarnationId, b.Fenced = int32(node), 1, kafka.UUID{15: byte(node)}, false
		b.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "::1", Port: 9090 + uint16(node)}}
		records = append(records, b)
	}
	for n := range 3 {
		p := metarec.NewPartitionRecord()
		p.TopicId, p.PartitionId, p.Leader = id, int32(n), int32(leader)
		p.Replicas, p.Isr = []int32{int32(leader)}, []int32{int32(leader)}
		p.Directories = []kafka.UUID{{15: 1}}
		records = append(records, p)
	}
	img, _, err := image.Apply(image.Empty(), records)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func newVerifier(img *image.Image, sent peers) *Verifier {
	return New(Config{
		Self: self, Listener: "PLAINTEXT", Image: func() *image.Image { return img }, Peers: sent,
		Timeout: time.Second, Pause: 20 * time.Millisecond, Patience: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
}

var producer = txn.Transaction{ID: "a", Producer: 7, Epoch: 3}

func partitions(n ...int) (list []kafka.TopicPartition) {
	for _, p := range n {
		list = append(list, kafka.TopicPartition{Topic: "t", Partition: kafka.PartitionID(p)})
	}
	return list
}

// asking asks and gives the codes that the producer is told.
func asking(v *Verifier, a txn.Ability, t txn.Transaction, list []kafka.TopicPartition) <-chan []kerr.Code {
	got := make(chan []kerr.Code, 1)
	go func() {
		var codes []kerr.Code
		for _, err := range v.Ask(context.Background(), a, t, list) {
			codes = append(codes, kerr.Of(err))
		}
		got <- codes
	}()
	return got
}

func told(t *testing.T, what string, got <-chan []kerr.Code, want ...kerr.Code) {
	t.Helper()
	if codes := <-got; !slices.Equal(codes, want) {
		t.Errorf("%s: the producer is told %v, want %v", what, codes, want)
	}
}

func TestTheCoordinatorIsAsked(t *testing.T) {
	sent := make(peers, 1)
	v := newVerifier(cluster(t, other), sent)
	defer v.Close()
	got := asking(v, txn.Classic, producer, partitions(0, 2))
	f := <-sent
	if f.addr != "[::1]:9092" || f.least != 4 || f.String() != "a 7.3 verify=true t[0 2]" {
		t.Errorf("asked %s from version %d on: %s", f.addr, f.least, f)
	}
	f.agrees(kerr.None)
	told(t, "it agrees", got, kerr.None, kerr.None)

	adding := producer
	adding.Adds = true
	got = asking(v, txn.Adding, adding, partitions(1))
	f = <-sent
	if f.String() != "a 7.3 verify=false t[1]" {
		t.Errorf("asked %s", f)
	}
	f.agrees(kerr.TransactionAbortable)
	told(t, "it does not", got, kerr.TransactionAbortable)
}

func TestWhatComesInsteadOfAnAnswer(t *testing.T) {
	f := func(what string, want kerr.Code, reply func(flight)) {
		t.Helper()
		sent := make(peers, 1)
		v := newVerifier(cluster(t, other), sent)
		defer v.Close()
		got := asking(v, txn.Abortable, producer, partitions(0))
		reply(<-sent)
		told(t, what, got, want)
	}
	f("an older release", kerr.None, func(f flight) { f.done(nil, fmt.Errorf("%w: 3", transport.ErrVersions)) })
	f("a connection that breaks", kerr.NotEnoughReplicas, func(f flight) { f.done(nil, errors.New("reset")) })
	f("something else", kerr.NotEnoughReplicas, func(f flight) { f.done(kmsg.NewPtrFetchResponse(), nil) })
	f("nothing of the partition", kerr.NotEnoughReplicas, func(f flight) { f.done(kmsg.NewPtrAddPartitionsToTxnResponse(), nil) })
	f("no right to ask", kerr.InvalidTxnState, func(f flight) {
		resp := kmsg.NewPtrAddPartitionsToTxnResponse()
		resp.ErrorCode = int16(kerr.ClusterAuthorizationFailed)
		f.done(resp, nil)
	})
}

func TestWithoutACoordinatorNobodyIsAsked(t *testing.T) {
	f := func(what string, img *image.Image) {
		t.Helper()
		v := newVerifier(img, nil)
		defer v.Close()
		told(t, what, asking(v, txn.Classic, producer, partitions(0)), kerr.NotEnoughReplicas)
	}
	f("no topic", image.Empty())
	f("this node leads it, and coordinates nothing", cluster(t, self))
}

// What is asked while a request is in flight goes into the next one.
func TestQuestionsMeanwhileGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := make(peers, 1)
		v := newVerifier(cluster(t, other), sent)
		defer v.Close()
		first := asking(v, txn.Classic, producer, partitions(0))
		f := <-sent
		second := asking(v, txn.Classic, producer, partitions(1))
		synctest.Wait()
		third := asking(v, txn.Classic, txn.Transaction{ID: "b", Producer: 8}, partitions(2))
		synctest.Wait()
		if len(sent) > 0 {
			t.Fatal("two requests in flight to one coordinator")
		}
		f.agrees(kerr.None)
		told(t, "first", first, kerr.None)
		f = <-sent
		if f.String() != "a 7.3 verify=true t[1]; b 8.0 verify=true t[2]" {
			t.Errorf("asked %s", f)
		}
		f.agrees(kerr.ProducerFenced)
		told(t, "second", second, kerr.InvalidProducerEpoch)
		told(t, "third", third, kerr.InvalidProducerEpoch)
	})
}

// The end of the transaction before may not be complete when the next begins. For
// who adds partitions the question is asked again, for a while.
func TestTheEndOfTheTransactionBeforeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := make(peers, 1)
		v := newVerifier(cluster(t, other), sent)
		defer v.Close()
		adding := producer
		adding.Adds = true
		got := asking(v, txn.Adding, adding, partitions(0, 1))
		(<-sent).agrees(kerr.ConcurrentTransactions)
		began := time.Now()
		f := <-sent
		if waited := time.Since(began); waited != 20*time.Millisecond {
			t.Errorf("asked again after %v", waited)
		}
		f.agrees(kerr.None)
		told(t, "in the end", got, kerr.None, kerr.None)

		got = asking(v, txn.Adding, adding, partitions(0))
		n := 0
		for done := false; !done; n++ {
			(<-sent).agrees(kerr.ConcurrentTransactions)
			synctest.Wait()
			done = len(got) > 0
			if !done {
				time.Sleep(20 * time.Millisecond)
				synctest.Wait()
			}
		}
		told(t, "never", got, kerr.ConcurrentTransactions)
		if n != 6 {
			t.Errorf("asked %d times in 100 ms with pauses of 20 ms", n)
		}

		got = asking(v, txn.Abortable, producer, partitions(0))
		(<-sent).agrees(kerr.ConcurrentTransactions)
		told(t, "who only verifies is told at once", got, kerr.NotEnoughReplicas)
	})
}

func TestWhoWaitsIsAnsweredWhenTheNodeStops(t *testing.T) {
	sent := make(peers, 1)
	v := newVerifier(cluster(t, other), sent)
	got := asking(v, txn.Classic, producer, partitions(0))
	<-sent
	v.Close()
	told(t, "the node stops", got, kerr.NotEnoughReplicas)
}
