package dirmove_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/drive/brokernode/dirmove"
)

// run starts a mover for a broker, and a controller that takes what it is told.
func (b *broker) run(movers int) (m *dirmove.Mover, stop func()) {
	m = dirmove.New(dirmove.Config{Movers: movers, Log: slog.New(slog.DiscardHandler)})
	b.begin = m.Begin
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { m.Run(ctx) })
	work.Go(func() {
		for ctx.Err() == nil {
			b.take()
			time.Sleep(time.Millisecond)
		}
	})
	return m, func() { cancel(); work.Wait() }
}

// Rule (KAFKA-16365, KAFKA-19571): moves there and back under load all end, no directory
// goes offline, appends and reads go on, and nothing is lost.
func TestManyMovesThereAndBackUnderLoad(t *testing.T) {
	b, disk := newBroker(t)
	_, stop := b.run(2)
	defer stop()
	end := make(chan struct{})
	var want []string
	var load sync.WaitGroup
	load.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			if err := b.append(fmt.Sprint("v", i)); err != nil {
				t.Errorf("append %d: %v", i, err)
				return
			}
			want = append(want, fmt.Sprintf("%d=v%d", i, i))
			time.Sleep(time.Millisecond)
		}
	})
	for i := range 30 {
		to := (i + 1) % len(ids)
		must(t, b.parts.MoveReplica(t0, ids[to], false))
		if i%7 == 3 {
			must(t, b.parts.MoveReplica(t0, ids[i%len(ids)], false)) // back where it is
			must(t, b.parts.MoveReplica(t0, ids[to], false))
		}
		for deadline := time.Now().Add(time.Minute); b.part().Moving(); {
			if time.Now().After(deadline) {
				t.Fatalf("move %d does not end: %+v", i, b.part().Status())
			}
			time.Sleep(time.Millisecond)
		}
		if s := b.part().Status(); s.Dir != ids[to] {
			t.Fatalf("move %d: in %s, want %s", i, s.Dir, ids[to])
		}
	}
	close(end)
	load.Wait()
	if b.dirs.AnyOffline() {
		t.Fatal("a directory went offline")
	}
	if got := settled(t, disk); got != roots[0]+"/t-0" {
		t.Fatal(got)
	}
	b.holds(want)
}

// Rule: replica.alter.log.dirs.io.max.bytes.per.second bounds what moves copy, and
// counts at once.
func TestMovesAreHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := start(t, formatted(), metadata(t, ids[0]))
		must(t, err)
		for i := range 200 {
			must(t, b.append(fmt.Sprintf("%100d", i)))
		}
		size := b.part().Status().Size
		m, stop := b.run(1)
		m.SetRate(0)
		must(t, b.parts.MoveReplica(t0, ids[1], false))
		copied := func() int64 {
			synctest.Wait()
			if f := b.part().Status().Future; f != nil {
				return f.Size
			}
			return size
		}
		time.Sleep(time.Minute)
		if got := copied(); got != 0 {
			t.Errorf("%d bytes at a rate of 0", got)
		}
		m.SetRate(1000)
		time.Sleep(5 * time.Second)
		if got := copied(); got < 3000 || got > 6500 {
			t.Errorf("%d of %d bytes in 5 s at 1000 a second", got, size)
		}
		m.SetRate(1e18)
		time.Sleep(time.Second)
		synctest.Wait()
		if b.part().Moving() {
			t.Errorf("%d of %d bytes without a bound", copied(), size)
		}
		stop()
		b.close()
	})
}
