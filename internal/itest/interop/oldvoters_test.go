package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest"
)

// oldVersion is a release of Apache Kafka that knows Vote up to version 1, so
// neither asks for pre-votes nor answers them.
const oldVersion = "3.9.2"

// Old voters, which are real ones, and ours: never two leaders in an epoch, and a
// leader again after each is killed, in the four cases of the design: the old ones are
// the minority or the majority, and the leader is old or ours (KIP-996, P10).
func TestOldAndNewVotersElectOneLeaderAnEpoch(t *testing.T) {
	for _, m := range []struct {
		name   string
		old    []int // of voters 1, 2 and 3
		leader int
	}{
		{"the leader is new and old ones are the minority", []int{3}, 1},
		{"the leader is old and old ones are the minority", []int{3}, 3},
		{"the leader is new and old ones are the majority", []int{2, 3}, 1},
		{"the leader is old and old ones are the majority", []int{2, 3}, 3},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			q := newMixed(t, oldVersion, m.old, m.leader)
			first := q.voters[m.leader-1]
			first.run(t)
			itest.AwaitPort(t, first.addr)
			for _, v := range q.voters {
				if v != first {
					v.run(t)
				}
			}
			led := q.awaitLeader(nil)
			if led.id != m.leader {
				t.Fatalf("voter %d leads, not %d", led.id, m.leader)
			}
			for _, v := range q.voters {
				q.awaitFollower(v)
			}
			for range 2 {
				led = q.awaitLeader(nil) // an old voter that is back may have stood for election
				before := q.highest()
				began := time.Now()
				led.Kill()
				next := q.awaitLeader(led)
				t.Logf("voter %d (old: %v) was killed; after %v voter %d (old: %v) leads, %d epochs later", led.id, led.theirs(),
					time.Since(began).Round(10*time.Millisecond), next.id, next.theirs(), q.highest()-before)
				led.run(t)
				q.awaitFollower(led)
			}
			q.oneLeaderAnEpoch()
		})
	}
}

// mixed is a quorum of three controllers, some of which are Apache Kafka's.
type mixed struct {
	t      *testing.T
	voters []*mixedVoter

	mu      sync.Mutex
	leaders map[int]int // by epoch, as the voters wrote it down
	doubled []string
}

type mixedVoter struct {
	*itest.Proc
	id         int
	release    string // of Apache Kafka; "" is ours
	file, data string
	addr       string
}

// election is what a voter has written down.
type election struct {
	Leader int `json:"leaderId"`
	Epoch  int `json:"leaderEpoch"`
}

// theirs tells whether it is a voter of Apache Kafka.
func (v *mixedVoter) theirs() bool { return v.release != "" }

// newMixed formats a quorum in which some voters are of a release of Apache Kafka.
// Who is to lead first has the shortest election timer.
func newMixed(t *testing.T, release string, theirs []int, leader int) *mixed {
	t.Helper()
	q := &mixed{t: t, leaders: map[int]int{}}
	ports := itest.FreePorts(t, 3)
	var set []string
	for id := 1; id <= 3; id++ {
		set = append(set, fmt.Sprintf("%d@127.0.0.1:%d", id, ports+id-1))
	}
	for id := 1; id <= 3; id++ {
		v := &mixedVoter{id: id, addr: fmt.Sprintf("127.0.0.1:%d", ports+id-1), data: filepath.Join(itest.Folder(t), "data")}
		if slices.Contains(theirs, id) {
			v.release = release
		}
		timer := 8000
		if id == leader {
			timer = 1000
		}
		v.file = itest.WriteFile(t, "server.properties", fmt.Sprintf(`process.roles=controller
node.id=%d
controller.quorum.voters=%s
controller.listener.names=CONTROLLER
listeners=CONTROLLER://%s
log.dirs=%s
controller.quorum.election.timeout.ms=%d
`, id, strings.Join(set, ","), v.addr, v.data, timer))
		v.format(t)
		q.voters = append(q.voters, v)
	}
	q.watch()
	return q
}

// format makes a voter's directory with the tool of its kind: old nodes take what
// newer ones put into the 0-0 checkpoint for records of the log, and then begin it
// without them. The features are those of an old release everywhere.
func (v *mixedVoter) format(t *testing.T) {
	t.Helper()
	switch v.release {
	case "":
	case itest.KafkaVersion:
		itest.MustKafkaTool(t, "", "kafka-storage", "format", "--config", v.file, "--cluster-id", clusterID, "--release-version", "3.9")
		return
	default:
		itest.FormatKafkaOf(t, v.release, v.file, clusterID)
		return
	}
	itest.Ottla(t, "", "storage", "format", "-c", v.file, "-t", clusterID, "--release-version", "3.9")
}

// run starts a voter with the program of its kind.
func (v *mixedVoter) run(t *testing.T) {
	t.Helper()
	if v.theirs() {
		v.Proc = itest.StartKafkaOf(t, v.release, v.file)
		return
	}
	v.Proc = itest.Start(t, fmt.Sprintf("voter %d", v.id), exec.Command(itest.Bin(t), "server", v.file))
}

// wrote is the election state of a voter; false when it has none.
func (v *mixedVoter) wrote() (e election, ok bool) {
	text, err := os.ReadFile(filepath.Join(v.data, "__cluster_metadata-0", "quorum-state"))
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	return e, err == nil
}

// watch notes, until the test ends, whom the voters name as leader of which epoch.
func (q *mixed) watch() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	q.t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, v := range q.voters {
				q.note(v)
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
}

func (q *mixed) note(v *mixedVoter) {
	e, ok := v.wrote()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !ok || e.Leader < 0 {
		return
	}
	if known, seen := q.leaders[e.Epoch]; seen && known != e.Leader {
		q.doubled = append(q.doubled, fmt.Sprintf("epoch %d: %d and %d", e.Epoch, known, e.Leader))
	}
	q.leaders[e.Epoch] = e.Leader
}

func (q *mixed) oneLeaderAnEpoch() {
	q.t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.doubled) > 0 {
		q.t.Errorf("two leaders in one epoch: %v", q.doubled)
	}
	q.t.Logf("leaders by epoch: %v", q.leaders)
}

// highest is the highest epoch that a voter has written down.
func (q *mixed) highest() (epoch int) {
	for _, v := range q.voters {
		e, _ := v.wrote()
		epoch = max(epoch, e.Epoch)
	}
	return epoch
}

// awaitLeader waits until a voter that runs leads the highest epoch, and is not gone.
func (q *mixed) awaitLeader(gone *mixedVoter) (leader *mixedVoter) {
	q.t.Helper()
	itest.Eventually(q.t, func() error {
		top := q.highest()
		for _, v := range q.voters {
			e, _ := v.wrote()
			if v != gone && v.Proc != nil && v.Running() && e.Epoch == top && e.Leader == v.id {
				leader = v
				return nil
			}
		}
		return fmt.Errorf("nobody leads epoch %d", top)
	})
	return leader
}

// awaitFollower waits until a voter follows who leads the highest epoch.
func (q *mixed) awaitFollower(v *mixedVoter) {
	q.t.Helper()
	itest.Eventually(q.t, func() error {
		if e, _ := v.wrote(); e.Epoch != q.highest() || e.Leader < 0 {
			return fmt.Errorf("voter %d has %+v, the highest epoch is %d", v.id, e, q.highest())
		}
		return nil
	})
}
