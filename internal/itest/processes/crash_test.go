package processes

import (
	"errors"
	"fmt"
	"testing"

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
	synced, plain := startLoad(t, d.Addr, "synced", "s"), startLoad(t, d.Addr, "plain", "p")
	for round := range lossRounds {
		synced.progress(t, 20+random.Int64N(100))
		topic := fmt.Sprintf("made-%d", round)
		create(t, d.Addr, topic, 1, nil)
		d.Kill()
		itest.Ottla(t, "", "fault", "drop-unsynced", "--fault-dir", faults, "--data", d.Data, "--seed", fmt.Sprint(random.Uint64()))
		d.Again(t)
		if got := readAll(t, d.Addr, topic); len(got) != 0 {
			t.Errorf("round %d: topic %s holds records nobody wrote", round, topic)
		}
	}
	synced.progress(t, 100)
	acked := synced.stop(t)
	exactlyOnce(t, readAll(t, d.Addr, "synced"), acked)
	plain.stopQuietly()
	tailsOnly(t, readAll(t, d.Addr, "plain"))
}

// tailsOnly checks that what is left are whole records of the load.
func tailsOnly(t *testing.T, read map[int32][]string) {
	t.Helper()
	for partition, values := range read {
		for _, v := range values {
			var n int
			if _, err := fmt.Sscanf(v, "p %d", &n); err != nil {
				t.Errorf("partition %d holds %q: %v", partition, v, errors.Unwrap(err))
			}
		}
	}
}
