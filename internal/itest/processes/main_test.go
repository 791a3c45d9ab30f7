// Package processes runs our binary as a user does: real processes, real
// clients in Go and C, real files, kills and bad input.
package processes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// patience bounds everything that a client does in a test.
func patience(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*itest.Stuck)
	t.Cleanup(cancel)
	return ctx
}

// client connects to a node.
func client(t testing.TB, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(addr, ",")...), kgo.RetryTimeout(itest.Stuck)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// create makes a topic with as many replicas as are usual there, and gives its id.
func create(t testing.TB, addr, topic string, partitions int32, configs map[string]string) kadm.TopicID {
	t.Helper()
	values := map[string]*string{}
	for k, v := range configs {
		values[k] = &v
	}
	made, err := kadm.NewClient(client(t, addr)).CreateTopic(patience(t), partitions, -1, values, topic)
	if err != nil {
		t.Fatalf("create %s: %v", topic, err)
	}
	return made.ID
}

// readAll reads a topic from its beginning to the ends that stand when it is
// called, and gives the values of each partition in order.
func readAll(t testing.TB, addr, topic string) map[int32][]string {
	t.Helper()
	read := map[int32][]string{}
	for partition, records := range readRecords(t, addr, topic) {
		for _, r := range records {
			read[partition] = append(read[partition], string(r.Value))
		}
	}
	return read
}

// readRecords is readAll with all that belongs to a record.
func readRecords(t testing.TB, addr, topic string) map[int32][]*kgo.Record {
	t.Helper()
	ctx := patience(t)
	ends, err := kadm.NewClient(client(t, addr)).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	ends.Each(func(o kadm.ListedOffset) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		if o.Offset > 0 {
			left++
		}
	})
	read := map[int32][]*kgo.Record{}
	cl := client(t, addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			read[r.Partition] = append(read[r.Partition], r)
			if end, _ := ends.Lookup(topic, r.Partition); r.Offset == end.Offset-1 {
				left--
			}
		})
	}
	return read
}

func numbered(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s %06d", prefix, i)
	}
	return all
}

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

func splitLines(out string) []string {
	out = strings.TrimSuffix(out, "\n")
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// within runs what must not take long: d is far above what it takes on a busy
// machine, and far below the time after which a client gives up by itself.
func within(t *testing.T, d time.Duration, what string, act func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- act(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		t.Fatalf("%s hangs", what)
		return nil
	}
}
