package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// spareHeap is how many bytes of garbage may gather where Go would collect
	// earlier. A small heap is collected all day long otherwise: at 4 MiB of live
	// data every 4 MiB, which a busy controller makes in 20 ms.
	spareHeap = 32 << 20
	// leastPercent is Go's own pace. A heap that is larger than spareHeap has it.
	leastPercent = 100
	// mostPercent holds before anything was collected: Go's least heap of 4 MiB
	// comes to spareHeap.
	mostPercent = 800
)

// tendHeap sets the collector's pace after each collection, unless the
// environment sets it (GOGC), until stop is called. When stop has returned the
// pace is nobody's, and stays as it is.
func tendHeap() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(mostPercent)
	ended := &ending{}
	runtime.SetFinalizer(&pace{percent: mostPercent, ended: ended}, (*pace).collected)
	return ended.end
}

// ending tells a pace that nobody wants it any more. It is apart from the pace,
// which is to be garbage.
type ending struct {
	mu   sync.Mutex // held while the pace is set
	over bool
}

func (e *ending) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// pace is garbage from the start, and so finds out that a collection is over. It
// is larger than what Go puts into one block with others, which would keep it.
type pace struct {
	percent int
	ended   *ending
	_       [2]uint64
}

func (p *pace) collected() {
	p.ended.mu.Lock()
	defer p.ended.mu.Unlock()
	if p.ended.over {
		return
	}
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	var scanned uint64
	for _, s := range samples {
		scanned += s.Value.Uint64()
	}
	// Setting the pace stops the world, so it is not done for a little.
	if want := gcPercent(scanned); want > p.percent*5/4 || want < p.percent*4/5 {
		p.percent = want
		debug.SetGCPercent(want)
	}
	runtime.SetFinalizer(p, (*pace).collected) // it lives once more
}

// gcPercent is the growth, in percent of what a collection found alive and
// scanned, that comes to spareHeap.
func gcPercent(scanned uint64) int {
	return int(min(max(spareHeap*100/max(scanned, 1), leastPercent), mostPercent))
}
