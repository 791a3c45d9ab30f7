package networks

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// changes are rows in which the voters change (KIP-853).
func changes() []row {
	return []row{
		{name: "a controller becomes a voter", dynamic: true, play: func(t *testing.T, c cluster, led view) {
			c.add(t, led, c[3])
		}},
		{name: "a voter is removed and runs on", dynamic: true, play: func(t *testing.T, c cluster, led view) {
			c.remove(t, led, c.follower(led))
			rest(faultFor)
		}},
		{name: "the leader removes itself and runs on", least: 1, most: 1, dynamic: true, play: func(t *testing.T, c cluster, led view) {
			c.remove(t, led, c.node(led.leader))
			rest(faultFor)
		}},
		{name: "a controller joins by itself", dynamic: true, settings: func(id int) string {
			return fmt.Sprintf("controller.quorum.auto.join.enable=%v", id == 4)
		}, play: func(t *testing.T, c cluster, led view) {
			c.awaitVoters(t, 4)
		}},
		{name: "a voter has a new disk", dynamic: true, play: func(t *testing.T, c cluster, led view) {
			f := c.follower(led)
			f.Kill()
			if err := os.RemoveAll(f.data); err != nil {
				t.Fatal(err)
			}
			f.format(t, "--no-initial-controllers")
			f.again(t)
			c.remove(t, led, f)
			c.awaitVoters(t, 2)
			c.add(t, led, f)
			c.awaitVoters(t, 3)
		}},
		{name: "a voter comes back at another port and the leader is killed", least: 1, most: 1, dynamic: true, play: moves},
		{name: "controllers have two listeners", dynamic: true, second: "OTHER", play: func(t *testing.T, c cluster, led view) {
			every := regexp.MustCompile(`(?s)OTHER.*OTHER.*OTHER`)
			c.node(led.leader).tells(t, 9094, every)
			c.node(led.leader).tells(t, 9093, every)
		}},
	}
}

// moves takes a follower to another port. Once the leader has noted it, the leader is
// killed: the one that is left has to find the follower there, as it takes both.
func moves(t *testing.T, c cluster, led view) {
	f := c.follower(led)
	f.Kill()
	f.port = 9193
	f.configure(t)
	f.again(t)
	c.node(led.leader).tells(t, 9093, regexp.MustCompile(f.host.IP+`:9193`))
	c.settled(t)
	c.node(led.leader).Kill()
	c.settled(t)
	c.node(led.leader).again(t)
}

// awaitVoters waits until all running nodes count so many voters.
func (c cluster) awaitVoters(t *testing.T, count int) {
	t.Helper()
	itest.Eventually(t, func() error {
		for _, n := range c {
			m, err := n.look()
			if err != nil {
				return err
			}
			if have := m.number("number_of_voters"); have != count {
				return fmt.Errorf("node %d counts %d voters, not %d", n.id, have, count)
			}
		}
		return nil
	})
}

// tells waits until a controller, asked at one of its ports, describes the quorum so.
func (n *node) tells(t *testing.T, port int, pattern *regexp.Regexp) {
	t.Helper()
	itest.Eventually(t, func() error {
		out, err := itest.Run("", n.host.Command(itest.Bin(t), "metadata-quorum", "describe", "--status", "--bootstrap-controller", fmt.Sprintf("%s:%d", n.host.IP, port)))
		if err == nil && !pattern.MatchString(out) {
			err = fmt.Errorf("no %s", pattern)
		}
		if err != nil {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(out))
		}
		return err
	})
}

// add makes a voter of a controller that runs, once it has caught up.
func (c cluster) add(t *testing.T, led view, n *node) {
	t.Helper()
	itest.Eventually(t, func() error {
		return c.node(led.leader).change(t, "add-controller", "--config", n.file)
	})
}

// remove takes a voter out of the set, by asking the leader once it has committed
// something in its epoch.
func (c cluster) remove(t *testing.T, led view, n *node) {
	t.Helper()
	itest.Eventually(t, func() error {
		m, err := c.node(led.leader).look()
		if err == nil && m.number("high_watermark") < 0 {
			err = fmt.Errorf("nothing is committed")
		}
		return err
	})
	err := c.node(led.leader).change(t, "remove-controller", "--controller-id", strconv.Itoa(n.id), "--controller-directory-id", directory(n.id))
	if err != nil {
		t.Fatal(err)
	}
}

// change asks a leader to change the voters, from its own host.
func (n *node) change(t *testing.T, args ...string) error {
	args = append([]string{"metadata-quorum"}, append(args, "--bootstrap-controller", n.host.IP+":9093")...)
	out, err := itest.Run("", n.host.Command(itest.Bin(t), args...))
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", args[1], err, out)
	}
	return err
}
