package txn

import (
	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Transaction is a producer's transaction and what is asked about it. Questions
// about equal ones are asked together.
type Transaction struct {
	ID       string // transactional id
	Producer kafka.ProducerID
	Epoch    int16
	// Adds: the coordinator is to add the partitions, not only to tell whether it
	// has them.
	Adds bool
}

// Question asks whether partitions belong to a transaction.
type Question struct {
	Transaction
	Partitions []kafka.TopicPartition
	// Token is the asker's; the desk does not look at it.
	Token any
}

// Answer is what the coordinator said to a question, partition by partition.
type Answer struct {
	*Question
	Codes []kerr.Code // of Partitions, in their order
}

// Entry is one transaction in a request, with the partitions of all questions
// about it, each once.
type Entry struct {
	Transaction
	Partitions []kafka.TopicPartition
	known      map[kafka.TopicPartition]struct{} // Partitions
	questions  []*Question
}

func newEntry(t Transaction) *Entry {
	return &Entry{Transaction: t, known: map[kafka.TopicPartition]struct{}{}}
}

func (e *Entry) add(q *Question) {
	e.questions = append(e.questions, q)
	for _, tp := range q.Partitions {
		if _, known := e.known[tp]; !known {
			e.known[tp] = struct{}{}
			e.Partitions = append(e.Partitions, tp)
		}
	}
}

// Desk collects questions to coordinators. A request holds a transactional id once
// at most, as coordinators look transactions up by it, and there is one request in
// flight for each coordinator: what is asked meanwhile goes into the next.
//
// Questions are bounded by the connections of producers, as each waits for its
// answer.
type Desk struct {
	counters map[kafka.NodeID]*counter
}

// counter is what there is for one coordinator.
type counter struct {
	waiting []*Entry               // in the order of their first questions
	open    map[Transaction]*Entry // waiting
	flying  []*Entry               // nil: no request in flight
}

// Ask takes in a question to a coordinator. Next may have a request afterwards.
func (d *Desk) Ask(coordinator kafka.NodeID, q *Question) {
	if d.counters == nil {
		d.counters = map[kafka.NodeID]*counter{}
	}
	c := d.counters[coordinator]
	if c == nil {
		c = &counter{open: map[Transaction]*Entry{}}
		d.counters[coordinator] = c
	}
	e := c.open[q.Transaction]
	if e == nil {
		e = newEntry(q.Transaction)
		c.open[q.Transaction] = e
		c.waiting = append(c.waiting, e)
	}
	e.add(q)
}

// Next is the next request for a coordinator; nil while one is in flight, or when
// nothing is asked.
func (d *Desk) Next(coordinator kafka.NodeID) []*Entry {
	c := d.counters[coordinator]
	if c == nil || c.flying != nil {
		return nil
	}
	ids := map[string]struct{}{}
	var later []*Entry
	for _, e := range c.waiting {
		if _, taken := ids[e.ID]; taken {
			later = append(later, e)
			continue
		}
		ids[e.ID] = struct{}{}
		delete(c.open, e.Transaction)
		c.flying = append(c.flying, e)
	}
	c.waiting = later
	if c.flying == nil {
		delete(d.counters, coordinator) // brokers come and go
	}
	return c.flying
}

// Answered ends the request in flight for a coordinator: code gives what it said of
// a partition in a transaction.
func (d *Desk) Answered(coordinator kafka.NodeID, code func(id string, tp kafka.TopicPartition) kerr.Code) []Answer {
	c := d.counters[coordinator]
	invariant.Check(c != nil && c.flying != nil, "an answer of broker %d to no question", coordinator)
	flown := c.flying
	c.flying = nil
	var all []Answer
	for _, e := range flown {
		for _, q := range e.questions {
			codes := make([]kerr.Code, len(q.Partitions))
			for i, tp := range q.Partitions {
				codes[i] = code(e.ID, tp)
			}
			all = append(all, Answer{q, codes})
		}
	}
	return all
}
