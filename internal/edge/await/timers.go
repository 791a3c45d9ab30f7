package await

import (
	"sync"
	"time"
)

// Timers fires deadlines from one goroutine. The goroutine runs only while
// there is a deadline, so an idle node has none.
type Timers struct {
	mu      sync.Mutex
	heap    []*Deadline // earliest first
	seq     uint64      // orders equal deadlines by their start
	wake    chan struct{}
	running bool
	closed  bool
	done    sync.WaitGroup
}

// Deadline is a point in time that can be given up. It is embedded in what
// waits; its zero value is not started. It may be started again after it fired
// or was stopped.
type Deadline struct {
	at    time.Time
	seq   uint64
	fire  func()
	index int // in the heap, plus 1; 0: not in it
}

// NewTimers makes a queue without deadlines.
func NewTimers() *Timers { return &Timers{wake: make(chan struct{}, 1)} }

// Start has fire called once after the given time, from the goroutine of the
// queue: fire must not block. A deadline that runs already is moved. After
// Close nothing fires.
func (t *Timers) Start(d *Deadline, after time.Duration, fire func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if d.index > 0 {
		t.remove(d)
	}
	t.seq++
	d.at, d.seq, d.fire = time.Now().Add(after), t.seq, fire
	t.push(d)
	switch {
	case !t.running:
		t.running = true
		t.done.Go(t.run)
	case t.heap[0] == d:
		t.nudge()
	}
}

// Stop gives a deadline up; true if it will not fire any more because of this
// call. False: it fired, is about to, or never ran.
func (t *Timers) Stop(d *Deadline) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.index == 0 {
		return false
	}
	t.remove(d)
	return true
}

// Close drops all deadlines and waits for the one that is firing.
func (t *Timers) Close() {
	t.mu.Lock()
	t.closed = true
	for _, d := range t.heap {
		d.index = 0
	}
	t.heap = nil
	t.nudge()
	t.mu.Unlock()
	t.done.Wait()
}

// Len counts the deadlines that run.
func (t *Timers) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.heap)
}

func (t *Timers) nudge() {
	select {
	case t.wake <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// run sleeps until the earliest deadline and fires it. It ends when there is
// none; Start begins a new one.
func (t *Timers) run() {
	clock := time.NewTimer(0)
	defer clock.Stop()
	for {
		fire, pause, ok := t.next()
		switch {
		case !ok:
			return
		case fire != nil:
			fire()
			continue
		}
		clock.Reset(pause)
		select {
		case <-clock.C:
		case <-t.wake:
		}
	}
}

// next takes the earliest deadline if it has passed, else tells how long it is
// until then.
func (t *Timers) next() (fire func(), pause time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heap) == 0 {
		t.running = false
		return nil, 0, false
	}
	d := t.heap[0]
	if pause := time.Until(d.at); pause > 0 {
		return nil, pause, true
	}
	t.remove(d)
	return d.fire, 0, true
}

func (t *Timers) less(i, j int) bool {
	a, b := t.heap[i], t.heap[j]
	return a.at.Before(b.at) || a.at.Equal(b.at) && a.seq < b.seq
}

func (t *Timers) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].index, t.heap[j].index = i+1, j+1
}

func (t *Timers) push(d *Deadline) {
	t.heap = append(t.heap, d)
	d.index = len(t.heap)
	t.up(len(t.heap) - 1)
}

func (t *Timers) remove(d *Deadline) {
	i, last := d.index-1, len(t.heap)-1
	t.swap(i, last)
	t.heap[last] = nil
	t.heap = t.heap[:last]
	d.index = 0
	if i < last {
		t.down(i)
		t.up(i)
	}
}

func (t *Timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.less(i, parent) {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t *Timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			return
		}
		if child+1 < len(t.heap) && t.less(child+1, child) {
			child++
		}
		if !t.less(child, i) {
			return
		}
		t.swap(i, child)
		i = child
	}
}
