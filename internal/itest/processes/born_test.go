package processes

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

const (
	bornTopics     = 100
	bornPartitions = 10
	bornKills      = 5
)

// A node that is killed while it makes the folders of a thousand new logs makes the
// rest at its next start, without a human: each partition takes records, and what was
// acknowledged before the kill is there.
func TestAKillWhileManyLogsAreBornNeedsNobody(t *testing.T) {
	t.Parallel()
	d := itest.StartDev(t)
	for round := range bornKills {
		names := make([]string, bornTopics)
		for i := range names {
			names[i] = fmt.Sprintf("born-%d-%d", round, i)
		}
		ctx, cl := patience(t), client(t, d.Addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if _, err := kadm.NewClient(cl).CreateTopics(ctx, bornPartitions, 1, nil, names...); err != nil {
			t.Fatal(err)
		}
		early := names[len(names)-1] // its turn comes last
		produceToAll(t, cl, []string{early}, "early")
		d.Kill()
		d.Again(t)
		produceToAll(t, cl, names, "late")
		for p, values := range readAll(t, d.Addr, early) {
			if len(values) != 2 || values[0] != "early" || values[1] != "late" {
				t.Errorf("round %d: partition %d of %s holds %q", round, p, early, values)
			}
		}
		cl.Close()
	}
	for _, folder := range d.Folders() {
		if logs, err := filepath.Glob(filepath.Join(folder, "born-*")); err != nil || len(logs) < bornKills*bornTopics*bornPartitions {
			t.Errorf("%d folders of logs, %v", len(logs), err)
		}
		if aside, err := filepath.Glob(filepath.Join(folder, "*-stray")); err != nil || len(aside) > 0 {
			t.Errorf("set aside for people to look at: %v, %v", aside, err)
		}
	}
}

// produceToAll writes a record to each partition and waits for all.
func produceToAll(t *testing.T, cl *kgo.Client, topics []string, value string) {
	t.Helper()
	var mu sync.Mutex
	var failed error
	var waiting sync.WaitGroup
	for _, topic := range topics {
		for p := range bornPartitions {
			waiting.Add(1)
			cl.Produce(patience(t), &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte(value)}, func(_ *kgo.Record, err error) {
				defer waiting.Done()
				mu.Lock()
				defer mu.Unlock()
				if failed == nil {
					failed = err
				}
			})
		}
	}
	waiting.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
}
