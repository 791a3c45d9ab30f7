package interop

import (
	"fmt"
	"strings"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// levels are the cells of row 3 in which metadata.version goes up from that of 3.9 to
// the newest, and down where no record would get lost.
func levels() (cells []peer.Cell) {
	for _, leads := range []peer.Kind{peer.Ottla, peer.Kafka} {
		cells = append(cells, peer.Cell{
			Row: 3, Name: "metadata.version goes from 3.9-IV0 to 4.4-IV2 and down led by " + short(leads),
			Play: func(p *peer.Play) { levelsChange(p, leads) },
		})
	}
	return cells
}

// Levels of metadata.version. Records are other ones from 4.0-IV1 on than before, and
// from 4.3-IV0, 4.4-IV1 and 4.4-IV2 on.
const (
	level39IV0 = 21
	level40IV1 = 23
	level42IV1 = 29
	level44IV2 = 33
)

// levelsChange changes the level by one at a time with Kafka's tool, under a load and
// with a topic made at each. Nodes of each kind start again with what was written.
func levelsChange(p *peer.Play, leads peer.Kind) {
	l := peer.Mix(peer.Combined, peer.Kafka, peer.Ottla, peer.Ottla)
	l.Release = "3.9-IV0"
	c := peer.New(p, l)
	f := &features{p, c, level39IV0}
	g := loaded(p, c, leads)
	f.is("metadata.version", level39IV0)
	p.Event(c, g, peer.Event{Name: "up to 4.0-IV1", Happens: func(peer.View) { f.goTo(level40IV1) }})
	p.Event(c, g, peer.Event{Name: "not down to 3.9-IV0", Happens: func(peer.View) { f.refused(level39IV0) }})
	p.Event(c, g, peer.Event{Name: "up to 4.2-IV1", Happens: func(peer.View) { f.goTo(level42IV1) }})
	p.Event(c, g, peer.Event{Name: "eligible leader replicas", Happens: func(peer.View) {
		f.change("upgrade", "eligible.leader.replicas.version", 1)
	}})
	p.Event(c, g, peer.Event{Name: "down to 4.0-IV1", Happens: func(peer.View) { f.goTo(level40IV1) }})
	f.restart(g)
	p.Event(c, g, peer.Event{Name: "up to 4.4-IV2", Happens: func(peer.View) { f.goTo(level44IV2) }})
	p.Event(c, g, peer.Event{Name: "not down to 4.4-IV1", Happens: func(peer.View) { f.refused(level44IV2 - 1) }})
	f.restart(g)
	p.End(c, g)
}

// features are changed with Kafka's tool.
type features struct {
	p     *peer.Play
	c     *peer.Cluster
	level int // of metadata.version
}

// goTo goes to a level of metadata.version, up or down, by one at a time.
func (f *features) goTo(level int) {
	f.p.Helper()
	for f.level != level {
		how := "upgrade"
		if f.level > level {
			f.level--
			how = "downgrade"
		} else {
			f.level++
		}
		f.change(how, "metadata.version", f.level)
		f.c.CreateTopic(fmt.Sprintf("%s-to-%d", how, f.level), 1, 3, nil)
	}
}

// change changes one feature, by way of a broker of either kind, and waits until one of
// each shows it.
func (f *features) change(how, feature string, level int) {
	f.p.Helper()
	u := use{"kafka-features", fmt.Sprintf("%s --feature %s=%d", how, feature, level), fmt.Sprintf("%s was %sd to %d.", feature, how, level)}
	if err := u.run(f.c, f.c.Nodes[level%2]); err != nil {
		f.p.Fatal(err)
	}
	f.is(feature, level)
}

func (f *features) is(feature string, level int) {
	f.p.Helper()
	for _, n := range firstOfEachKind(f.c.Nodes) {
		itest.Eventually(f.p, func() error {
			at, err := n.Finalized(feature)
			if err == nil && at != level {
				err = fmt.Errorf("%s shows %s at %d, not %d", n, feature, at, level)
			}
			return err
		})
	}
}

// refused tries to go down where records would get lost.
func (f *features) refused(level int) {
	f.p.Helper()
	out, err := f.c.Tool("kafka-features", "--bootstrap-server", f.c.Nodes[level%2].Addr(), "downgrade", "--feature", fmt.Sprintf("metadata.version=%d", level))
	if want := fmt.Sprintf("Could not downgrade metadata.version to %d.", level); err == nil || !strings.Contains(out, want) {
		f.p.Errorf("metadata.version is to stay at %d: %v, and not %q: %s", f.level, err, want, out)
	}
	f.is("metadata.version", f.level)
}

// restart has a follower of each kind start again.
func (f *features) restart(g *peer.Ledger) {
	f.p.Helper()
	leader := f.c.Settled().Leader
	for _, n := range firstOfEachKind(f.c.Others(leader)) {
		f.p.Event(f.c, g, peer.Event{Name: short(n.Kind) + " node restarts", Happens: func(peer.View) {
			n.Stop()
			n.Start()
			f.c.Ready()
			f.is("metadata.version", f.level)
		}})
	}
}
