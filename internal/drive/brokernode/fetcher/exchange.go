package fetcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// exchange is a request on its way and back.
type exchange struct {
	number uint64 // of the request, for fetches
	cancel context.CancelFunc
	// got has room for the answer, so that nobody has to wait for it.
	got chan outcome
}

type outcome struct {
	resp kmsg.Response
	err  error
}

// send sends a request over the connection that there is.
func (s *source) send(req kmsg.Request) *exchange {
	ctx, cancel := context.WithTimeout(s.ctx, s.host.cfg.Limits.Timeout)
	e := &exchange{number: s.count, cancel: cancel, got: make(chan outcome, 1)}
	s.conn.Send(ctx, req, func(resp kmsg.Response, err error) { e.got <- outcome{resp, err} })
	return e
}

// wait waits for the answer.
func (e *exchange) wait() (kmsg.Response, error) {
	o := <-e.got
	e.cancel()
	return o.resp, o.err
}

// fetch is one request and what comes of its answer. An error means that the
// session has to begin anew.
//
// While the leader has nothing it lets us wait for replica.fetch.wait.max.ms. A
// partition that comes to be followed meanwhile, or has ended its rest, would wait
// with us, and with it the first record that is written to it. So a second request
// follows on the same connection, which names the newcomers and waits for nothing.
// A leader of our kind answers the first one when the second arrives, see giveWay
// in package api. Apache Kafka reads the second one when it has answered the first,
// and nothing is worse than if it had come after it.
//
// A request that opens a session does not wait either, as nothing can be added to
// it before the session has a name.
func (s *source) fetch() error {
	if err := s.connect(); err != nil {
		return err
	}
	wait := s.host.cfg.Limits.Wait
	if s.session.full() && !s.session.declined {
		wait = 0
	}
	first := s.ask(wait)
	second := s.askForNewcomers(first)
	err := s.answered(first)
	if second == nil {
		return err
	}
	if err == nil {
		return s.answered(second)
	}
	_, _ = second.wait() // the session is over, and the answer of no use
	return err
}

// ask sends a fetch.
func (s *source) ask(wait time.Duration) *exchange {
	s.host.figures.Requests.Add(1)
	s.asks.mark(time.Now())
	return s.send(s.request(wait))
}

// askForNewcomers waits for the answer to the first request and leaves it where it
// is, or for newcomers, and sends the second request then.
func (s *source) askForNewcomers(first *exchange) (second *exchange) {
	for {
		rested, stop := after(s.nextRest(time.Now()))
		select {
		case o := <-first.got:
			first.got <- o
			stop()
			return nil
		case <-s.wake:
		case <-rested:
		}
		stop()
		s.takeOrders()
		s.endRests(time.Now())
		if len(s.due) > 0 && !s.session.full() {
			return s.ask(0)
		}
	}
}

// after is a timer, or, for a negative time, none.
func after(d time.Duration) (passed <-chan time.Time, stop func()) {
	if d < 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}

// answered waits for the answer to a fetch and takes it.
func (s *source) answered(e *exchange) error {
	got, err := e.wait()
	if err != nil {
		return err
	}
	resp, ok := got.(*kmsg.FetchResponse)
	if !ok {
		return errors.New("the leader answered with something else")
	}
	switch code := kerr.Code(resp.ErrorCode); code {
	case kerr.None:
	case kerr.FetchSessionIdNotFound, kerr.InvalidFetchSessionEpoch, kerr.FetchSessionTopicIdError:
		s.session.lost()
		return nil // the next request lists everything
	default:
		return fmt.Errorf("leader %d: %w", s.key.node, code)
	}
	s.session.answered(resp.SessionID)
	return s.take(e.number, resp)
}
