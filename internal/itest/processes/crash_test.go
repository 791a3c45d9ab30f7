package processes

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
	"github.com/ottla/ottla/internal/itest"
)

const killRounds = 30

// Nothing that was acknowledged is lost or doubled when the process is killed,
// again and again, under load.
func TestThirtyKillsUnderLoadLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	d := itest.StartDev(t)
	create(t, d.Addr, "t", 3, nil)
	loads := []*load{startLoad(t, d.Addr, "t", "a"), startLoad(t, d.Addr, "t", "b"), startLoad(t, d.Addr, "t", "c")}
	for range killRounds {
		loads[random.IntN(len(loads))].progress(t, 50+random.Int64N(500))
		d.Kill()
		d.Again(t)
	}
	var acked []string
	for _, l := range loads {
		l.progress(t, 100)
		acked = append(acked, l.stop(t)...)
	}
	exactlyOnce(t, readAll(t, d.Addr, "t"), acked)
}

const lossRounds = 10

// stopRound has a clean stop first. Until then a log without flush.messages was
// never synced, so a loss takes its very file; from then on it takes a tail.
const stopRound = 3

// When the machine loses what was not synced, metadata loses nothing, a topic
// with flush.messages=1 loses nothing, any other at most its unsynced tail; and
// the node starts without a human.
func TestTenLossesOfUnsyncedBytes(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	faults := t.TempDir()
	d := itest.StartDev(t, "--fault-dir", faults)
	create(t, d.Addr, "synced", 2, map[string]string{"flush.messages": "1"})
	create(t, d.Addr, "plain", 2, nil)
	synced := startLoad(t, d.Addr, "synced", "s")
	// When the node no longer knows its sequences, the client writes on only after
	// it has read the metadata again.
	plain := startLoad(t, d.Addr, "plain", "p", kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.MetadataMinAge(100*time.Millisecond))
	accounts := make([]account, 2) // of the partitions of plain
	made := map[string]madeTopic{}
	for round := range lossRounds {
		synced.progress(t, 20+random.Int64N(100))
		plain.progress(t, 20+random.Int64N(100))
		if round == stopRound {
			d.Stop(t)
			d.Again(t)
			plain.progress(t, 20+random.Int64N(100))
		}
		topic, partitions := fmt.Sprintf("made-%d", round), 1+round%3
		made[topic] = madeTopic{create(t, d.Addr, topic, int32(partitions), nil), partitions}
		d.Kill()
		recovery := recoveryPoints(t, d)
		itest.Ottla(t, "", "fault", "drop-unsynced", "--fault-dir", faults, "--data", d.Data, "--seed", fmt.Sprint(random.Uint64()))
		for p := range accounts {
			accounts[p].lose(acksOf(t, plain, p), logNumbers(t, d, "plain", p), recovery("plain", p))
		}
		d.Again(t)
		if got := readAll(t, d.Addr, topic); len(got) != 0 {
			t.Errorf("round %d: topic %s holds records nobody wrote", round, topic)
		}
	}
	synced.progress(t, 100)
	plain.progress(t, 100)
	acked := synced.stop(t)
	exactlyOnce(t, readAll(t, d.Addr, "synced"), acked)
	plain.stopQuietly()
	read := readRecords(t, d.Addr, "plain")
	for p := range accounts {
		a, numbers := &accounts[p], numbersOf(t, read[int32(p)])
		a.acked = acksOf(t, plain, p)
		if err := a.audit(numbers); err != nil {
			t.Errorf("plain-%d: %v", p, err)
		}
		t.Logf("plain-%d: %d acknowledged, %d of them lost, %d read", p, len(a.acked), a.lost(numbers), len(numbers))
	}
	allThere(t, d.Addr, made)
}

// madeTopic is what the answer to its creation said of a topic.
type madeTopic struct {
	id         kadm.TopicID
	partitions int
}

// allThere checks that the metadata still has topics as they were made.
func allThere(t *testing.T, addr string, made map[string]madeTopic) {
	t.Helper()
	topics, err := kadm.NewClient(client(t, addr)).ListTopics(patience(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, ok := topics[name]
		if !ok || got.Err != nil || (madeTopic{got.ID, len(got.Partitions)}) != want {
			t.Errorf("%s was made as %v and is %v with %d partitions, error %v", name, want, got.ID, len(got.Partitions), got.Err)
		}
	}
}

// acksOf are the acknowledgements in a partition that a load has handled so far.
func acksOf(t *testing.T, l *load, partition int) (acked []ack) {
	t.Helper()
	for _, r := range l.ackedSoFar() {
		if r.Partition == int32(partition) {
			acked = append(acked, ack{number(t, r.Value), int(r.Offset)})
		}
	}
	return acked
}

// numbersOf are the numbers of a whole partition, which has no gap.
func numbersOf(t *testing.T, records []*kgo.Record) (numbers []int) {
	t.Helper()
	for i, r := range records {
		if r.Offset != int64(i) {
			t.Fatalf("partition %d: offset %d follows offset %d", r.Partition, r.Offset, i-1)
		}
		numbers = append(numbers, number(t, r.Value))
	}
	return numbers
}

// logNumbers are the numbers in the log of a node that does not run, up to the
// first batch that is not whole.
func logNumbers(t *testing.T, d *itest.Dev, topic string, partition int) (numbers []int) {
	t.Helper()
	var decoder batch.Decoder
	for h, b := range batch.All(itest.LogBytes(t, d.Folders()[0], topic, partition)) {
		if int(h.BaseOffset) != len(numbers) || !batch.CheckCRC(b) {
			break
		}
		for r, err := range decoder.Records(b) {
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, number(t, r.Value))
		}
	}
	return numbers
}

// number is that of a record of the load "p".
func number(t *testing.T, value []byte) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(string(value), "p %d", &n); err != nil {
		t.Fatalf("a record holds %q: %v", value, err)
	}
	return n
}

// recoveryPoints reads what a node has written down of its logs; 0 where it has
// not yet.
func recoveryPoints(t *testing.T, d *itest.Dev) func(topic string, partition int) int {
	t.Helper()
	points, err := storage.ReadOffsets(vfs.OS{}, filepath.Join(d.Folders()[0], dirs.RecoveryPointFile))
	if err != nil {
		t.Fatal(err)
	}
	return func(topic string, partition int) int {
		return int(points[kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(partition)}])
	}
}
