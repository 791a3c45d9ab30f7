package group

import (
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
)

// desk is what the parts of a shard share: the settings, the time of the step
// that is under way, and where its deadlines, records and answers go.
type desk struct {
	cfg Config
	rng *rand.Rand
	now Time

	timers   timers
	journal  journal
	queue    queue
	answered []Request
}

func newDesk(cfg Config) *desk {
	d := &desk{cfg: cfg, rng: rand.New(cfg.Random)}
	d.queue.late.fire = d.answerLate
	return d
}

// begin starts a step: what came of the one before is used up.
func (d *desk) begin(now Time) {
	d.now = now
	d.journal.begin()
	clear(d.answered) // do not keep what has been answered alive
	d.answered = d.answered[:0]
}

// effects is what came of the step.
func (d *desk) effects() Effects {
	return Effects{Append: d.journal.records, Answered: d.answered, Deadline: d.timers.next()}
}

// answer finishes a request.
func (d *desk) answer(r Request, err kerr.Code) {
	r.call().Err = err
	d.answered = append(d.answered, r)
}

// refuseJoin answers with an error; the member id is the request's.
func (d *desk) refuseJoin(r *Join, err kerr.Code) {
	r.Reply = JoinReply{Generation: noGeneration, MemberID: r.MemberID}
	d.answer(r, err)
}

// after makes a timer due when some time from now has passed.
func (d *desk) after(wait time.Duration, t *timer) { d.timers.set(t, d.now.At.Add(wait)) }

// open begins a unit; the records put from now on belong to it.
func (d *desk) open(u unit) {
	d.queue.last++
	d.journal.seq = d.queue.last
	d.follow(u)
}

// follow makes u end together with the last unit that was opened.
func (d *desk) follow(u unit) {
	d.queue.add(u, d.now.At.Add(d.cfg.CommitTimeout))
	if d.queue.late.pos == 0 {
		d.after(d.cfg.CommitTimeout, &d.queue.late)
	}
}

// answerLate answers those whose records have been on their way for too long.
func (d *desk) answerLate() {
	if next, more := d.queue.overdue(d.now.At); more {
		d.timers.set(&d.queue.late, next)
	}
}
