package dirs

import (
	"context"
	"sync"
	"time"
)

// paceBurst is how much may be read and written at once, in time at the rate.
const paceBurst = 300 * time.Millisecond

// unpaced is a rate that no disk reaches, in bytes a second.
const unpaced = 1e15

// paceReview bounds a wait, however low the rate.
const paceReview = time.Hour

// pace holds those who read and write, all cleaners together or who looks for damage,
// at a rate, which may change while they wait.
type pace struct {
	mu   sync.Mutex
	debt float64   // bytes that were let through and not paid for with time
	at   time.Time // when debt was so much
}

// wait lets bytes through at the rate that the settings say for cleaners, or ends with ctx.
func (p *pace) wait(ctx context.Context, settings *live, bytes int) error {
	for {
		now, changed := settings.now()
		pause := p.take(time.Now(), float64(bytes), now.CleanRate)
		if pause == 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// take lets bytes through, or says how long to wait before asking again. A rate of
// 0 lets nothing through.
func (p *pace) take(now time.Time, bytes, rate float64) (pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.debt = max(p.debt-now.Sub(p.at).Seconds()*rate, 0)
	p.at = now
	switch {
	case rate <= 0:
		return paceReview
	case rate >= unpaced:
		p.debt = 0
		return 0
	}
	if late := (p.debt - rate*paceBurst.Seconds()) / rate; late > 0 {
		return max(min(time.Duration(min(late, paceReview.Seconds())*float64(time.Second)), paceReview), time.Millisecond)
	}
	p.debt += bytes
	return 0
}
