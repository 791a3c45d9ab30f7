package explore

import (
	"encoding/binary"
	"flag"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"
)

var toyRestarts = flag.Int("toy-restarts", -1, "explore the toy of two epochs, too, with up to this many restarts: 0 to 2")

// toy is the small model of an election on which a checker of this kind is
// calibrated. Three nodes; messages are a set and never leave it.
type toy struct {
	epochs, restarts int
	forgetful        bool // the planted bug: a restart forgets votedFor
}

type toyState uint8

const (
	toyUnattached toyState = iota
	toyCandidate
	toyLeader
	toyFollower
)

// toyNode has votedFor and leader as node + 1, 0 for none, and votes as bits.
type toyNode struct {
	epoch, voted, leader, votes uint8
	state                       toyState
}

type toyWorld struct {
	nodes    [3]toyNode
	restarts uint8
	messages uint64
}

const (
	toyRequest = iota
	toyGrant
	toyRefuse
	toyBegin
)

// bit of a message: epochs are 1 or 2, and to is the first or second other node.
func toyBit(kind, epoch, from, to int) uint64 {
	other := 0
	if (from+1)%3 != to {
		other = 1
	}
	return 1 << (((kind*2+epoch-1)*3+from)*2 + other)
}

func (w *toyWorld) send(kind, epoch, from, to int) { w.messages |= toyBit(kind, epoch, from, to) }

func (w *toyWorld) sendBoth(kind, from int) {
	for i := 1; i < 3; i++ {
		w.send(kind, int(w.nodes[from].epoch), from, (from+i)%3)
	}
}

func (w *toyWorld) bytes(to []byte) []byte {
	packed := uint64(w.restarts)
	for _, n := range w.nodes {
		packed = packed<<11 | uint64(n.epoch)<<9 | uint64(n.state)<<7 | uint64(n.voted)<<5 | uint64(n.leader)<<3 | uint64(n.votes)
	}
	to = binary.LittleEndian.AppendUint64(to, packed)
	return binary.LittleEndian.AppendUint64(to, w.messages)
}

func toyWorldOf(b []byte) (w toyWorld) {
	packed := binary.LittleEndian.Uint64(b)
	w.messages = binary.LittleEndian.Uint64(b[8:])
	for i := 2; i >= 0; i-- {
		w.nodes[i] = toyNode{
			epoch: uint8(packed >> 9 & 3), state: toyState(packed >> 7 & 3), voted: uint8(packed >> 5 & 3),
			leader: uint8(packed >> 3 & 3), votes: uint8(packed & 7),
		}
		packed >>= 11
	}
	w.restarts = uint8(packed)
	return w
}

func (t toy) Start() []byte { return (&toyWorld{}).bytes(nil) }

func (t toy) Next(state []byte, emit func(uint32, []byte)) error {
	w := toyWorldOf(state)
	var buf [16]byte
	var broken error
	try := func(step uint32, change func(*toyWorld)) {
		next := w
		change(&next)
		if !next.safe() {
			broken = &Broken{Step: step, Rule: "two leaders in an epoch"}
		}
		emit(step, next.bytes(buf[:0]))
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.state != toyLeader && int(n.epoch) < t.epochs {
			try(uint32(i), func(w *toyWorld) { w.timeout(i) })
		}
		if n.state == toyCandidate && n.votes&(n.votes-1) != 0 {
			try(uint32(8+i), func(w *toyWorld) { w.lead(i) })
		}
		if int(w.restarts) < t.restarts {
			try(uint32(16+i), func(w *toyWorld) { w.restart(i, t.forgetful) })
		}
	}
	for kind := range 4 {
		for epoch := 1; epoch <= 2; epoch++ {
			for from := range 3 {
				for k := 1; k < 3; k++ {
					to := (from + k) % 3
					if bit := toyBit(kind, epoch, from, to); w.messages&bit != 0 {
						try(uint32(32+kind*64+epoch*16+from*4+to), func(w *toyWorld) { w.receive(kind, epoch, from, to) })
					}
				}
			}
		}
	}
	return broken
}

func (w *toyWorld) timeout(i int) {
	n := &w.nodes[i]
	*n = toyNode{epoch: n.epoch + 1, state: toyCandidate, voted: uint8(i + 1), votes: 1 << i}
	w.sendBoth(toyRequest, i)
}

func (w *toyWorld) lead(i int) {
	w.nodes[i].state, w.nodes[i].leader = toyLeader, uint8(i+1)
	w.sendBoth(toyBegin, i)
}

func (w *toyWorld) restart(i int, forgetful bool) {
	n := &w.nodes[i]
	w.restarts++
	n.votes = 0
	if n.state == toyLeader || n.state == toyCandidate {
		n.state = toyUnattached
	}
	if int(n.leader) == i+1 {
		n.leader = 0
	}
	if forgetful {
		n.voted = 0
	}
}

func (w *toyWorld) receive(kind, epoch, from, to int) {
	n := &w.nodes[to]
	if epoch > int(n.epoch) {
		*n = toyNode{epoch: uint8(epoch)}
	}
	same := epoch == int(n.epoch)
	switch kind {
	case toyRequest:
		if same && n.state == toyUnattached && n.leader == 0 && (n.voted == 0 || int(n.voted) == from+1) {
			n.voted = uint8(from + 1)
			w.send(toyGrant, int(n.epoch), to, from)
		} else {
			w.send(toyRefuse, int(n.epoch), to, from)
		}
	case toyGrant:
		if same && n.state == toyCandidate {
			n.votes |= 1 << from
		}
	case toyBegin:
		if same && n.leader == 0 && n.state != toyLeader {
			n.state, n.leader, n.votes = toyFollower, uint8(from+1), 0
		}
	}
}

func (w *toyWorld) safe() bool {
	for i, a := range w.nodes {
		for _, b := range w.nodes[i+1:] {
			if a.epoch == b.epoch && a.leader != 0 && b.leader != 0 && a.leader != b.leader {
				return false
			}
		}
	}
	return true
}

// The explorer finds exactly the states, transitions and depth that the toy is
// known to have.
func TestToyHasItsStates(t *testing.T) {
	f := func(epochs, restarts, states, transitions, depth int) {
		t.Helper()
		began := time.Now()
		found := All(toy{epochs: epochs, restarts: restarts}, Limits{})
		t.Logf("E=%d R=%d: %v; %.0f states a second", epochs, restarts, found, float64(found.States)/time.Since(began).Seconds())
		if found.Broken != nil || !found.Complete || found.States != states ||
			transitions > 0 && (found.Transitions != transitions || found.Depth != depth) {
			t.Errorf("E=%d R=%d: %v, broken: %v; want %d, %d, %d", epochs, restarts, found, found.Broken, states, transitions, depth)
		}
	}
	f(1, 0, 623, 0, 0)
	f(1, 1, 2131, 0, 0)
	if *toyRestarts >= 0 {
		f(2, 0, 941_139, 15_746_619, 25)
	}
	if *toyRestarts >= 1 {
		f(2, 1, 2_959_752, 52_393_938, 26)
	}
	if *toyRestarts >= 2 {
		f(2, 2, 5_439_270, 100_075_437, 27)
	}
}

// How many processors there are changes nothing of what is found: the same states go through
// the hands of one, two and five goroutines.
func TestProcessorsFindTheSame(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	var first Found
	for _, processors := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(processors)
		found := All(toy{epochs: 1, restarts: 3}, Limits{})
		if processors == 1 {
			first = found
		}
		if !reflect.DeepEqual(found, first) || !found.Complete {
			t.Errorf("%d processors find %v, one finds %v", processors, found, first)
		}
	}
	t.Log(first)
}

// A way that is told leads from the start to the state whose step breaks a rule,
// and none is shorter.
func TestPathLeadsToTheBrokenRule(t *testing.T) {
	m := toy{epochs: 2, restarts: 1, forgetful: true}
	found := All(m, Limits{})
	state := m.Start()
	for i, step := range found.Path {
		var next []byte
		err := m.Next(state, func(s uint32, b []byte) {
			if s == step && next == nil {
				next = slices.Clone(b)
			}
		})
		if last := i == len(found.Path)-1; (err != nil) != last || !last && next == nil {
			t.Fatalf("step %d of %d: %v", i+1, len(found.Path), err)
		}
		state = next
	}
	if len(found.Path) != found.Depth {
		t.Errorf("%d steps, and the rule is broken on level %d", len(found.Path), found.Depth)
	}
}

// A restart that forgets its vote gives an epoch two leaders.
func TestToyFindsThePlantedBug(t *testing.T) {
	found := All(toy{epochs: 2, restarts: 1, forgetful: true}, Limits{})
	if found.Broken == nil || len(found.Path) == 0 {
		t.Fatalf("not found in %v", found)
	}
	t.Logf("%v after %d steps, in %v", found.Broken, len(found.Path), found)
}
