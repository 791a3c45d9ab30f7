package txn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

const coordinator kafka.NodeID = 1

// asks puts a question about partitions of topic t; name is its token.
func asks(d *Desk, name string, txn Transaction, partitions ...int) {
	q := &Question{Transaction: txn, Token: name}
	for _, n := range partitions {
		q.Partitions = append(q.Partitions, tp(n))
	}
	d.Ask(coordinator, q)
}

func tp(n int) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: "t", Partition: kafka.PartitionID(n)}
}

// sends wants the next request to be so; "" is none.
func sends(t *testing.T, d *Desk, want string) {
	t.Helper()
	var out []string
	for _, e := range d.Next(coordinator) {
		line := fmt.Sprintf("%s %d.%d", e.ID, e.Producer, e.Epoch)
		for _, tp := range e.Partitions {
			line += fmt.Sprint(" ", tp.Partition)
		}
		if e.Adds {
			line += " add"
		}
		out = append(out, line)
	}
	if got := strings.Join(out, "; "); got != want {
		t.Errorf("the request is %q, want %q", got, want)
	}
}

// answered ends the request: partition 1 is refused, the others are not.
func answered(t *testing.T, d *Desk, want string) {
	t.Helper()
	var out []string
	for _, a := range d.Answered(coordinator, func(id string, at kafka.TopicPartition) kerr.Code {
		if at == tp(1) {
			return kerr.TransactionAbortable
		}
		return kerr.None
	}) {
		line := fmt.Sprint(a.Token)
		for _, c := range a.Codes {
			line += fmt.Sprintf(" %d", int16(c))
		}
		out = append(out, line)
	}
	if got := strings.Join(out, "; "); got != want {
		t.Errorf("the answers are %q, want %q", got, want)
	}
}

// "merged per coordinator broker, one in flight per broker, one transactional id
// each at most."
func TestQuestionsShareARequest(t *testing.T) {
	var d Desk
	a, b := Transaction{ID: "a", Producer: 7}, Transaction{ID: "b", Producer: 8, Adds: true}
	sends(t, &d, "")
	asks(&d, "first", a, 0)
	sends(t, &d, "a 7.0 0")
	asks(&d, "second", a, 0, 1) // one is in flight, so it goes into the next
	asks(&d, "third", a, 2, 1)
	asks(&d, "fourth", b, 5)
	sends(t, &d, "")
	answered(t, &d, "first 0")
	sends(t, &d, "a 7.0 0 1 2; b 8.0 5 add")
	answered(t, &d, "second 0 120; third 0 120; fourth 0")
	sends(t, &d, "")
	if len(d.counters) != 0 {
		t.Errorf("%d coordinators are kept although nobody asks them", len(d.counters))
	}
}

// A coordinator finds transactions by their ids, so an id that comes with another
// epoch or another wish has to wait for a request of its own. Who is fenced is for
// the coordinator to say.
func TestATransactionalIDIsInARequestOnce(t *testing.T) {
	var d Desk
	asks(&d, "old", Transaction{ID: "a", Producer: 7}, 0)
	asks(&d, "new", Transaction{ID: "a", Producer: 7, Epoch: 1}, 1)
	asks(&d, "add", Transaction{ID: "a", Producer: 7, Epoch: 1, Adds: true}, 2)
	asks(&d, "other", Transaction{ID: "b", Producer: 8}, 3)
	asks(&d, "old too", Transaction{ID: "a", Producer: 7}, 4)
	sends(t, &d, "a 7.0 0 4; b 8.0 3")
	answered(t, &d, "old 0; old too 0; other 0")
	sends(t, &d, "a 7.1 1")
	answered(t, &d, "new 120")
	sends(t, &d, "a 7.1 2 add")
	answered(t, &d, "add 0")
	sends(t, &d, "")
}

func TestCoordinatorsAreAskedApart(t *testing.T) {
	var d Desk
	asks(&d, "here", Transaction{ID: "a", Producer: 7}, 0)
	sends(t, &d, "a 7.0 0")
	d.Ask(2, &Question{Transaction: Transaction{ID: "b"}, Token: "there"})
	if got := d.Next(2); len(got) != 1 || got[0].ID != "b" {
		t.Errorf("%+v", got)
	}
	answered(t, &d, "here 0")
}
