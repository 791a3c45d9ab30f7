package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// eachAnswering asks all bootstrap addresses of a client side by side which
// requests they know, and tries something with each that answers, in the order
// of the answers: a node that accepts connections and then says nothing, as a
// stopped process does, keeps nobody from the others. It ends when a try is done;
// when none is, with the error that says most. n counts the addresses from 0, as
// they were given.
func eachAnswering(ctx context.Context, client *kgo.Client, try func(n int, seed *kgo.Broker) (done bool, err error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type answer struct {
		n   int
		err error
	}
	seeds := client.SeedBrokers()
	answers := make(chan answer, len(seeds))
	for n, seed := range seeds {
		go func() {
			_, err := seed.Request(ctx, kmsg.NewPtrApiVersionsRequest())
			answers <- answer{n, err}
		}()
	}
	var failed error
	for range seeds {
		a := <-answers
		if a.err == nil {
			var done bool
			if done, a.err = try(a.n, seeds[a.n]); done {
				return a.err
			}
		}
		if failed == nil || !timedOut(a.err) {
			failed = a.err
		}
	}
	return failed
}
