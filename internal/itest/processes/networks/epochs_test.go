package networks

import (
	"fmt"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest"
)

// faultFor is how long a fault lasts: several fetch and election timeouts.
const faultFor = 8 * time.Second

// row is an event and how many epochs it may cost a quorum of three controllers, with
// Kafka's default timeouts. The simulator plays the same (docs/kip-996.md); here it is
// the operating system that loses packets and stops processes.
type row struct {
	name        string
	least, most int
	// settings are of the voter with this id; nil for none.
	settings func(id int) string
	// later is the voter that starts only when the others have a leader; 0 for none.
	later int
	// first is the voter that has to lead when play begins; 0 for any.
	first int
	// brokers are nodes beside the voters. They do not run when play begins.
	brokers int
	// release is the metadata.version of the quorum; "" for ours.
	release string
	// dynamic has the log say who votes, and a fourth controller that does not vote.
	dynamic bool
	// second is a listener of all controllers beside their first; "" for none.
	second string
	play   func(t *testing.T, c cluster, led view)
}

// rows are what continuous integration plays, long rows first.
func rows() []row {
	return append(changes(), []row{
		{name: "a follower stands still for 1.5 s every 5 s", play: func(t *testing.T, c cluster, led view) {
			pauses(c.follower(led), 3)
		}},
		{name: "the majority is lost", most: 1, play: majorityLost},
		{name: "all restart one by one and the leader last", least: 1, most: 1, play: rollingRestart},
		{name: "a follower is cut off", play: followerAway},
		{name: "a follower is cut off at metadata.version 3.9-IV0", release: "3.9-IV0", play: followerAway},
		{name: "a follower is cut off at metadata.version 4.4-IV2", release: "4.4-IV2", dynamic: true, play: followerAway},
		{name: "a follower is cut off from the leader only", play: func(t *testing.T, c cluster, led view) {
			l, f := c.node(led.leader), c.follower(led)
			deaf(t, l, f)
			deaf(t, f, l)
			rest(faultFor)
			hear(t, l, f)
		}},
		{name: "the leader is cut off", least: 1, most: 1, play: func(t *testing.T, c cluster, led view) {
			c.node(led.leader).away(t)
		}},
		{name: "what the leader says is lost", least: 1, most: 1, play: func(t *testing.T, c cluster, led view) {
			others := c.without(led.leader)
			deaf(t, others[0], c.node(led.leader))
			deaf(t, others[1], c.node(led.leader))
			rest(faultFor)
			hear(t, others...)
		}},
		{name: "a follower does not hear the leader", play: func(t *testing.T, c cluster, led view) {
			oneWay(t, c.follower(led), c.node(led.leader))
		}},
		{name: "the leader does not hear a follower", play: func(t *testing.T, c cluster, led view) {
			oneWay(t, c.node(led.leader), c.follower(led))
		}},
		{name: "a follower does not hear another", play: func(t *testing.T, c cluster, led view) {
			others := c.without(led.leader)
			oneWay(t, others[0], others[1])
		}},
		{name: "a follower has a fetch timeout of 300 ms", settings: short(1), later: 1, play: quiet},
		{name: "the leader has a fetch timeout of 300 ms", settings: alone(1), first: 1, play: quiet},
		{name: "the leader and a follower have a fetch timeout of 300 ms", settings: short(1, 2), later: 3, play: quiet},
		{name: "all have a fetch timeout of 300 ms", settings: short(1, 2, 3), play: quiet},
		{name: "the leader stands still for less than the fetch timeout, again and again", play: func(t *testing.T, c cluster, led view) {
			l := c.node(led.leader)
			for _, pause := range []time.Duration{1200, 1600, 1600} {
				l.Pause()
				rest(pause * time.Millisecond)
				l.Continue()
				rest(time.Second)
			}
			rest(3 * time.Second)
		}},
		{name: "a firewall refuses a follower at the leader", play: refused},
		{name: "every fifth packet is lost", play: func(t *testing.T, c cluster, led view) {
			for _, n := range c {
				n.iptables(t, "--append", "INPUT", "--source", "10.99.0.0/24", "--match", "statistic",
					"--mode", "nth", "--every", "5", "--packet", "0", "--jump", "DROP")
			}
			rest(faultFor)
			hear(t, c...)
		}},
		{name: "a broker comes", brokers: 1, play: func(t *testing.T, c cluster, led view) {
			c[3].again(t)
			c[3].Says(t, "Kafka Server started")
		}},
		{name: "the leader is killed and comes back", least: 1, most: 1, play: func(t *testing.T, c cluster, led view) {
			c.node(led.leader).Kill()
			c.settled(t)
			c.node(led.leader).again(t)
		}},
		{name: "the leader ends in good order and comes back", least: 1, most: 1, play: func(t *testing.T, c cluster, led view) {
			c.node(led.leader).restart(t)
		}},
		{name: "all end and all start", least: 1, most: 1, play: func(t *testing.T, c cluster, led view) {
			for _, n := range c {
				n.Kill()
			}
			for _, n := range c {
				n.again(t)
			}
		}},
	}...)
}

// What an event costs in epochs, with real processes in networks of their own.
func TestEventsCostTheirEpochs(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t)
		})
	}
}

func (r row) run(t *testing.T) {
	l := layout{voters: 3, roles: "controller", settings: r.settings, brokers: r.brokers, release: r.release, dynamic: r.dynamic, second: r.second}
	if r.dynamic {
		l.spares = 1
	}
	c := format(t, l)
	for _, n := range c[:3+l.spares] {
		if n.id != r.later {
			n.again(t)
		}
	}
	if r.later != 0 {
		c.settled(t)
		c.node(r.later).again(t)
	}
	led := c.settled(t)
	if r.first != 0 && led.leader != r.first {
		t.Fatalf("node %d leads, not %d", led.leader, r.first)
	}
	r.play(t, c, led)
	c.settled(t)
	rest(2 * time.Second) // in which what comes too late would come
	after := c.settled(t)
	cost := after.epoch - led.epoch
	t.Logf("ledger: real processes in networks of their own: %s | epochs: %d", r.name, cost)
	if cost < r.least || cost > r.most {
		t.Errorf("it cost %d epochs, not %d to %d: before %+v, after %+v", cost, r.least, r.most, led, after)
	}
}

// rest lets time pass in which something has to go on, or nothing may happen.
func rest(d time.Duration) { <-time.After(d) }

func quiet(*testing.T, cluster, view) { rest(faultFor) }

// short are the settings of voters with a fetch timeout that is much too short.
func short(which ...int) func(id int) string {
	return func(id int) string {
		for _, w := range which {
			if w == id {
				return "controller.quorum.fetch.timeout.ms=300"
			}
		}
		return ""
	}
}

// alone are the settings of a voter with a fetch timeout that is much too short, which
// leads, because the others take their time to stand.
func alone(which int) func(id int) string {
	return func(id int) string {
		if id == which {
			return short(which)(id)
		}
		return "controller.quorum.election.timeout.ms=20000"
	}
}

// refused has a healthy leader seem dead to one follower: its connection is reset, and
// its port refuses (B3). The other follower hears from the leader, so it refuses the
// round, and there is no other one from this.
func refused(t *testing.T, c cluster, led view) {
	l, f := c.node(led.leader), c.follower(led)
	l.iptables(t, "--append", "INPUT", "--source", f.host.IP, "--protocol", "tcp", "--jump", "REJECT", "--reject-with", "tcp-reset")
	rest(faultFor)
	hear(t, l)
}

func followerAway(t *testing.T, c cluster, led view) { c.follower(led).away(t) }

// without are the voters but one.
func (c cluster) without(id int) (rest []*node) {
	for _, n := range c[:3] {
		if n.id != id {
			rest = append(rest, n)
		}
	}
	return rest
}

// away cuts a node off for a while.
func (n *node) away(t *testing.T) {
	t.Helper()
	n.host.Disconnect(t)
	rest(faultFor)
	n.host.Connect(t)
}

// restart ends a node in good order and starts it again.
func (n *node) restart(t *testing.T) {
	t.Helper()
	if code := n.Stop(t); code != 0 {
		t.Errorf("node %d ended with status %d", n.id, code)
	}
	n.again(t)
}

// deaf drops what one node sends to another when it arrives there.
func deaf(t *testing.T, n, to *node) {
	t.Helper()
	n.iptables(t, "--append", "INPUT", "--source", to.host.IP, "--jump", "DROP")
}

// hear ends all deafness of nodes.
func hear(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		n.iptables(t, "--flush")
	}
}

func (n *node) iptables(t *testing.T, args ...string) {
	t.Helper()
	if out, err := itest.Run("", n.host.Command("iptables", append([]string{"--wait"}, args...)...)); err != nil {
		t.Fatalf("iptables: %v: %s", err, out)
	}
}

// oneWay drops for a while what one node sends to another.
func oneWay(t *testing.T, n, to *node) {
	t.Helper()
	deaf(t, n, to)
	rest(faultFor)
	hear(t, n)
}

func pauses(n *node, count int) {
	for range count {
		n.Pause()
		rest(1500 * time.Millisecond)
		n.Continue()
		rest(3500 * time.Millisecond)
	}
}

// majorityLost pulls all cables: while nobody reaches anybody no epoch may pass.
func majorityLost(t *testing.T, c cluster, led view) {
	for _, n := range c {
		n.host.Disconnect(t)
	}
	rest(faultFor)
	for _, n := range c {
		m, err := n.look()
		if err != nil {
			t.Fatal(err)
		}
		if epoch := m.number("current_epoch"); epoch != led.epoch {
			t.Errorf("node %d, alone, went from epoch %d to %d", n.id, led.epoch, epoch)
		}
	}
	for _, n := range c {
		n.host.Connect(t)
	}
}

func rollingRestart(t *testing.T, c cluster, led view) {
	for _, n := range append(c.without(led.leader), c.node(led.leader)) {
		n.restart(t)
		itest.Eventually(t, func() error {
			m, err := n.look()
			if err == nil && m.state() != "follower" {
				err = fmt.Errorf("node %d is %s", n.id, m.state())
			}
			return err
		})
		c.settled(t)
	}
}
