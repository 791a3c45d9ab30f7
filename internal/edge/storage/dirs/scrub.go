package dirs

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Mender has what other replicas hold.
type Mender interface {
	// Fetch gives whole batches of a partition that follow each other from an offset
	// on, or from the batch that holds it, up to another one and perhaps beyond.
	Fetch(ctx context.Context, tp kafka.TopicPartition, from, to kafka.Offset) ([]byte, error)
}

// scrubFigures are what looking for damage counts, of one directory.
type scrubFigures struct {
	read, found, mended metrics.Count
	left                metrics.Level // damaged places that the last look at their logs has left
}

// Scrub reads what is no longer appended to, one log of a directory after the other
// and all directories at once, as slowly as the settings say, until ctx ends. What is
// damaged is put right with what another replica holds; where none has it, it stays
// as it is and is told.
func (d *Dirs) Scrub(ctx context.Context, m Mender) {
	var running sync.WaitGroup
	for i := range d.directories() {
		running.Go(func() { d.scrubber(i, m).run(ctx) })
	}
	running.Wait()
}

func (d *Dirs) scrubber(i int, m Mender) *scrubbing {
	return &scrubbing{Dirs: d, at: i, figures: &d.figures.scrubs[i], mender: m, left: map[kafka.TopicPartition]int{}}
}

// scrubbing looks for damage in one of the directories.
type scrubbing struct {
	*Dirs
	at      int // which one
	figures *scrubFigures
	mender  Mender
	pace    pace
	dir     *directory                   // in this round: one that comes back is another one
	left    map[kafka.TopicPartition]int // damaged places that could not be mended
}

// errOff ends a round when the settings say that there is to be none.
var errOff = errors.New("damage is not looked for")

func (s *scrubbing) run(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		began := time.Now()
		s.round(ctx, first)
		s.rest(ctx, began)
	}
}

// round looks at each log once. The first one begins somewhere, so that a broker
// that is often restarted does not look at the same ones each time.
func (s *scrubbing) round(ctx context.Context, first bool) {
	s.dir = s.directories()[s.at]
	if s.dir.offline() != nil {
		return
	}
	logs := s.dir.all()
	at := 0
	if first && len(logs) > 0 {
		at = rand.IntN(len(logs))
	}
	there := map[kafka.TopicPartition]bool{}
	for i := range logs {
		l := logs[(at+i)%len(logs)]
		if err := s.log(ctx, l); err != nil {
			return
		}
		there[l.TP()] = true
	}
	maps.DeleteFunc(s.left, func(tp kafka.TopicPartition, _ int) bool { return !there[tp] })
	s.tell()
}

// rest waits until the next round is due, also where the settings change meanwhile.
// After they said that there is to be none the next one is due at once.
func (s *scrubbing) rest(ctx context.Context, began time.Time) {
	for ctx.Err() == nil {
		settings, changed := s.live.now()
		left := time.Until(began.Add(settings.ScrubEvery))
		if settings.ScrubRate <= 0 {
			began, left = time.Time{}, paceReview
		}
		if left <= 0 {
			return
		}
		timer := time.NewTimer(max(left, leastBackoff))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// log looks at one log. It fails when it is not worth looking at others: ctx has ended,
// or the directory has failed.
func (s *scrubbing) log(ctx context.Context, l *storage.Log) error {
	left := 0
	for from := kafka.Offset(0); from != kafka.NoOffset; {
		found, next, err := l.Scrub(from, s.reading(ctx))
		switch {
		case ctx.Err() != nil, errors.Is(err, errOff):
			return err
		case failed(err):
			return err // a disk that cannot be read has taken its directory offline
		case err != nil:
			next = kafka.NoOffset // the log was deleted
		}
		if len(found) > 0 && !s.mend(ctx, l, found) {
			left += len(found)
		}
		from = next
	}
	s.left[l.TP()] = left
	s.tell()
	return nil
}

// tell sets how much damage is left.
func (s *scrubbing) tell() {
	sum := 0
	for _, n := range s.left {
		sum += n
	}
	s.figures.left.Set(sum)
}

// reading counts what is read, at the rate that the settings say.
func (s *scrubbing) reading(ctx context.Context) func(int) error {
	return func(bytes int) error {
		s.figures.read.Add(bytes)
		return s.slowly(ctx, bytes)
	}
}

// slowly waits until so many bytes may be read or written. As a file is held open
// meanwhile, it gives up when the directory fails or damage is not to be looked for
// any more.
func (s *scrubbing) slowly(ctx context.Context, bytes int) error {
	for {
		settings, changed := s.live.now()
		if settings.ScrubRate <= 0 {
			return errOff
		}
		pause := s.pace.take(time.Now(), float64(bytes), settings.ScrubRate)
		if pause == 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(min(pause, leastBackoff))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		if err := errors.Join(ctx.Err(), s.dir.offline()); err != nil {
			return err
		}
	}
}

// mend puts right what is damaged in one segment, and tells whether it could.
func (s *scrubbing) mend(ctx context.Context, l *storage.Log, found []storage.Damage) bool {
	tp := l.TP()
	s.figures.found.Add(len(found))
	log := s.opt.Logger.With("topic", tp.Topic, "partition", int32(tp.Partition), "dir", s.dir.path, "segment", int64(found[0].Segment))
	for _, x := range found {
		log.Warn("damage was found in a log", "position", x.Position, "bytes", x.Bytes, "offset", int64(x.From), "to", int64(x.To))
	}
	if err := s.patch(ctx, l, found); err != nil {
		if ctx.Err() == nil {
			log.Error("the damage is left as it is", "places", len(found), "error", err)
		}
		return false
	}
	s.figures.mended.Add(len(found))
	log.Info("the damage is mended with what another replica holds", "places", len(found))
	return true
}

func (s *scrubbing) patch(ctx context.Context, l *storage.Log, found []storage.Damage) error {
	patches := make([]storage.Patch, 0, len(found))
	for _, x := range found {
		fetched, err := s.mender.Fetch(ctx, l.TP(), x.From, x.To)
		if err != nil {
			return err
		}
		p, err := x.Fit(fetched, l.Config().CleanupCompact)
		if err != nil {
			return err
		}
		patches = append(patches, p)
	}
	return l.Mend(patches, func(bytes int) error { return s.slowly(ctx, bytes) })
}
