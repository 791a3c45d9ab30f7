package peer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest/compare"
)

// Cell is one cell of the matrix.
type Cell struct {
	Row  int
	Name string
	// Quick cells are those that continuous integration plays: of each row some.
	Quick bool
	Play  func(p *Play)
}

// Play is a cell that is being played, and what it has asserted so far. A cell
// counts only when it has compared what was acknowledged, the metadata logs, and
// the epochs before and after each event.
type Play struct {
	testing.TB
	cell    Cell
	acked   int
	records int
	images  int
	events  []string
}

// Event is something that happens to a cluster.
type Event struct {
	Name string
	// Lasts is the timer that the event has to outlast; what it brings about is
	// looked at only afterwards.
	Lasts time.Duration
	// Least and Most are how many epochs it may cost.
	Least, Most int
	// Happens makes it happen, knowing how the quorum was before, and ends it.
	Happens func(v View)
}

// Run plays a cell as a sub-test beside others, and notes the outcome for the report.
func (c Cell) Run(t *testing.T) {
	t.Run(fmt.Sprintf("row %d/%s", c.Row, c.Name), func(t *testing.T) {
		t.Parallel()
		p := &Play{TB: t, cell: c}
		began := time.Now()
		defer func() { note(p.outcome(time.Since(began))) }()
		c.Play(p)
		if p.acked == 0 || p.records == 0 || len(p.events) == 0 {
			t.Errorf("the cell does not count: it compared %d acknowledged records, %d records of the metadata log and the epochs of %d events", p.acked, p.records, len(p.events))
		}
	})
}

// settles is how long a quorum is left alone after an event: what costs an epoch
// too late would do so in that time.
const settles = 2 * time.Second

// Event lets an event happen and checks what it cost. The load must go on
// afterwards. It gives how the quorum is then.
func (p *Play) Event(c *Cluster, g *Ledger, e Event) View {
	p.Helper()
	before := c.Settled()
	began := time.Now()
	e.Happens(before)
	rest(e.Lasts - time.Since(began))
	c.Settled()
	c.InSync(g.topic, g.replicas)
	g.Moves()
	rest(settles)
	after := c.Settled()
	cost := after.Epoch - before.Epoch
	p.events = append(p.events, fmt.Sprintf("%s %d", e.Name, cost))
	p.Logf("%s: %d epochs, %s led and %s leads, after %v", e.Name, cost, before.Leader, after.Leader, time.Since(began).Round(time.Millisecond))
	if cost < e.Least || cost > e.Most {
		p.Errorf("%s cost %d epochs, not %d to %d", e.Name, cost, e.Least, e.Most)
	}
	return after
}

// rest lets time pass in which something has to go on, or nothing may happen.
func rest(d time.Duration) { <-time.After(d) }

// End ends a cell: the load is verified, all nodes end in good order, their metadata
// logs are equal, either side writes the same bytes for all that is in them and
// makes the same image of every snapshot, and no Java node has complained.
func (p *Play) End(c *Cluster, g *Ledger) {
	p.Helper()
	p.acked += g.Verify()
	committed := c.Settled().Committed
	c.Stop()
	var logs []compare.Log
	var folders []string
	for _, n := range c.Nodes {
		log, err := compare.ReadLog(n.String(), n.Metadata())
		if err != nil {
			p.Fatal(err)
		}
		logs, folders = append(logs, log), append(folders, n.Metadata())
	}
	records, err := compare.Common(logs, committed)
	if err != nil {
		p.Fatalf("the metadata logs differ: %v", err)
	}
	p.records += len(records)
	compare.Bytes(p, records)
	p.images += compare.Images(p, folders)
	c.QuietJava()
}

// outcome is the cell's line of the report.
func (p *Play) outcome(took time.Duration) outcome {
	result := "passed"
	if p.Failed() {
		result = "FAILED"
	}
	return outcome{Row: p.cell.Row, Name: p.cell.Name, Result: result, Took: took, Acked: p.acked,
		Records: p.records, Images: p.images, Events: strings.Join(p.events, "; ")}
}
