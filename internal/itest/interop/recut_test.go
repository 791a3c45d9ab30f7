package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/itest"
)

// recutVoter is a controller whose folder both kinds run on.
type recutVoter struct {
	*itest.Proc
	id   int
	data string
	text string // of its properties, without the interval of records that say nothing
}

// with writes the properties, by which a leader writes a record every few milliseconds.
func (v *recutVoter) with(t *testing.T, idleMillis int) string {
	t.Helper()
	return itest.WriteFile(t, "server.properties", v.text+fmt.Sprintf("metadata.max.idle.interval.ms=%d\n", idleMillis))
}

func (v *recutVoter) again(t *testing.T, idleMillis int) {
	t.Helper()
	v.Proc = itest.Start(t, fmt.Sprintf("voter %d", v.id), exec.Command(itest.Bin(t), "server", v.with(t, idleMillis)))
}

// folder is that of the metadata log.
func (v *recutVoter) folder() string { return filepath.Join(v.data, "__cluster_metadata-0") }

// mark is what is noted of how far its log is durable.
func (v *recutVoter) mark() metarec.DurableMark {
	b, err := os.ReadFile(filepath.Join(v.folder(), metarec.DurableMarkFile))
	if err != nil {
		return metarec.DurableMark{}
	}
	m, _ := metarec.ReadDurableMark(b)
	return m
}

// newest is the last line of leader-epoch-checkpoint: an epoch and where it begins.
func (v *recutVoter) newest() (epoch int32, start int64) {
	b, err := os.ReadFile(filepath.Join(v.folder(), "leader-epoch-checkpoint"))
	if lines := strings.Fields(string(b)); err == nil && len(lines) >= 4 {
		_, _ = fmt.Sscan(strings.Join(lines[len(lines)-2:], " "), &epoch, &start)
	}
	return epoch, start
}

// A leader of ours has synced records that nobody else has, and is killed. Apache Kafka runs
// on its folder, has them cut for the next leader, and stops. The log then ends below what
// we have noted, and we start on it: nothing was lost.
func TestALogThatApacheKafkaHasCutIsTaken(t *testing.T) {
	t.Parallel()
	const n, busy, quiet = 3, 5, 3_600_000
	ports := itest.FreePorts(t, n)
	var voters []string
	for i := range n {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, ports+i))
	}
	all := make([]*recutVoter, n)
	for i := range all {
		v := &recutVoter{id: i + 1, data: filepath.Join(itest.Folder(t), "data")}
		v.text = fmt.Sprintf("process.roles=controller\nnode.id=%d\ncontroller.quorum.voters=%s\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://127.0.0.1:%d\nlog.dirs=%s\n",
			v.id, strings.Join(voters, ","), ports+i, v.data)
		itest.Ottla(t, "", "storage", "format", "-c", v.with(t, busy), "-t", clusterID)
		all[i] = v
	}
	for _, v := range all {
		v.again(t, busy)
	}
	lead := leaderOf(t, all, 0)
	var others []*recutVoter
	for _, v := range all {
		if v != lead {
			others = append(others, v)
		}
	}
	itest.Eventually(t, func() error { // until the controllers are registered, and it writes by itself
		if at := min(others[0].mark().Below, others[1].mark().Below); at < 20 {
			return fmt.Errorf("the log ends at %d", at)
		}
		return nil
	})
	itest.KillAll([]*itest.Proc{others[0].Proc, others[1].Proc})
	itest.Eventually(t, func() error {
		if at, has := lead.mark(), max(others[0].mark().Below, others[1].mark().Below); at.Below <= has {
			return fmt.Errorf("the leader has synced below %d, the others below %d", at.Below, has)
		}
		return nil
	})
	lead.Kill()
	noted := lead.mark()
	for _, v := range others {
		v.again(t, quiet)
	}
	leaderOf(t, others, noted.Epoch)

	theirs := itest.StartKafka(t, lead.with(t, quiet))
	var cut int64
	itest.Eventually(t, func() (err error) {
		epoch, start := lead.newest()
		if cut = start; epoch <= noted.Epoch {
			err = fmt.Errorf("the newest epoch in the log is %d", epoch)
		}
		return err
	})
	theirs.Stop(t)
	if cut >= noted.Below || lead.mark() != noted {
		t.Fatalf("%+v was noted, and is %+v; Apache Kafka has cut the log at %d", noted, lead.mark(), cut)
	}
	lead.again(t, quiet)
	lead.Says(t, "Kafka Server started")
	if out := lead.Output(); strings.Count(out, "the metadata log was cut below what was durable") != 1 {
		t.Errorf("it does not say once that the log was cut:\n%s", out)
	}
	if now := lead.mark(); now.Epoch <= noted.Epoch {
		t.Errorf("%+v is noted after %+v", now, noted)
	}
}

// leaderOf waits until voters name one of them as the leader, of a later epoch than said.
func leaderOf(t *testing.T, voters []*recutVoter, after int32) (leader *recutVoter) {
	t.Helper()
	itest.Eventually(t, func() error {
		for _, v := range voters {
			b, err := os.ReadFile(filepath.Join(v.folder(), "quorum-state"))
			if err != nil {
				return err
			}
			state, _, err := metarec.ReadQuorumState(b)
			if err != nil {
				return err
			}
			if int(state.LeaderId) != v.id || state.LeaderEpoch <= after {
				continue
			}
			if epoch, _ := v.newest(); epoch == state.LeaderEpoch {
				leader = v
				return nil
			}
		}
		return fmt.Errorf("nobody leads")
	})
	return leader
}
