package transport

import (
	"context"
	"time"
)

// overdue is the one timer of a link for the deadlines of all its requests. Most
// have the same time, so the first one is due first: the timer is set once, and
// again when it has run out, not for each request. link.mu guards it.
type overdue struct {
	timer *time.Timer
	at    time.Time // when it runs out; zero while it is not set
}

// watch has look called when a deadline passes, or somewhat before; zero is none.
func (o *overdue) watch(deadline time.Time, look func()) {
	switch {
	case deadline.IsZero() || !o.at.IsZero() && !deadline.Before(o.at):
		return
	case o.timer == nil:
		o.timer = time.AfterFunc(time.Until(deadline), look)
	default:
		o.timer.Reset(time.Until(deadline))
	}
	o.at = deadline
}

// stop ends the watch.
func (o *overdue) stop() {
	if o.timer != nil {
		o.timer.Stop()
	}
}

// look expires the requests whose deadline has passed and watches the others'.
func (l *link) look() {
	now := time.Now()
	var late []*exchange
	l.mu.Lock()
	l.overdue.at = time.Time{}
	for _, waiting := range [][]*exchange{l.flight, l.queue} {
		for _, e := range waiting {
			switch {
			case e.deadline.IsZero() || e.over():
			case e.deadline.After(now):
				l.overdue.watch(e.deadline, l.look)
			default:
				late = append(late, e)
			}
		}
	}
	l.mu.Unlock()
	for _, e := range late {
		l.expire(e, context.DeadlineExceeded)
	}
}
