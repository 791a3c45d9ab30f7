// Package await parks what waits: a fetch for more bytes, a produce for its
// followers, a request for a commit. It offers deadlines that cost no
// goroutine and no allocation each (Timers, Deadline), and a request that can
// finish in one of several ways but finishes once (Parked), found again through
// the lists of the things it waits for (List, Watch). What the waiting is for
// is known to the caller alone.
//
// A waiter lives like this:
//
//	p.Init(timers, try, finish)
//	lock; list.Add(&p.watch); unlock // for each thing it waits for
//	p.Start(maxWait)                 // tries once more, so nothing is missed in between
//
// and the things that move do this:
//
//	lock; move; woken = list.AppendTo(woken[:0]); unlock
//	for _, p := range woken { p.Poke() }
package await
