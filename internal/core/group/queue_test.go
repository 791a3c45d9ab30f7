package group

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// tale is a unit that tells what happens to it.
type tale struct {
	name string
	told *[]string
}

func (u tale) tell(what string)     { *u.told = append(*u.told, u.name+" "+what) }
func (u tale) committed()           { u.tell("committed") }
func (u tale) failed(err kerr.Code) { u.tell(fmt.Sprint("failed ", err)) }
func (u tale) late(err kerr.Code)   { u.tell(fmt.Sprint("late ", err)) }

// Units end in the order in which they were opened, together with those that
// follow them, and each is answered once for being late.
func TestQueueOrder(t *testing.T) {
	var told []string
	q := &queue{}
	add := func(name string, opens bool, deadline kafka.Instant) {
		if opens {
			q.last++
		}
		q.add(tale{name, &told}, deadline)
	}
	f := func(want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%q, want %q", told, want)
		}
		told = nil
	}
	add("a", true, 10)
	add("b", true, 20)
	add("with-b", false, 30)
	add("c", true, 40)
	if next, more := q.overdue(10); next != 20 || !more {
		t.Errorf("next at %v", next)
	}
	f("a late COORDINATOR_NOT_AVAILABLE")
	q.overdue(10)
	f()
	q.committed(1)
	f("a committed")
	q.failed(Failed{From: 2, Through: 2, Err: kerr.NotLeaderOrFollower})
	f("b failed NOT_COORDINATOR", "with-b failed NOT_COORDINATOR")
	add("d", true, 50)
	if _, more := q.overdue(40); !more {
		t.Error("d is forgotten")
	}
	f("c late COORDINATOR_NOT_AVAILABLE")
	q.abandon(kerr.NotCoordinator)
	f("d late NOT_COORDINATOR")
	q.committed(4)
	f()
}
