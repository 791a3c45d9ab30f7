package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// book is all that was acknowledged in topic txn, in the order of its logs: records
// are written one after the other.
type book struct {
	p     *peer.Play
	c     *peer.Cluster
	count int32 // of partitions
	plain *kgo.Client
	// producers are transactional, each with an id of its own.
	producers []*kgo.Client
	lines     map[int32][]line
	written   int
	begun     int
}

// line is one record.
type line struct {
	value  string
	in     *transaction // nil: in none
	offset int64
}

// transaction is one of a producer's.
type transaction struct {
	producer  int
	number    int
	cl        *kgo.Client
	ended     bool
	committed bool
}

func (t *transaction) String() string {
	if t == nil {
		return "plain"
	}
	return fmt.Sprintf("%d/%d", t.producer, t.number)
}

func newBook(p *peer.Play, c *peer.Cluster, partitions int32) *book {
	b := &book{p: p, c: c, count: partitions, lines: map[int32][]line{}}
	b.plain = b.client()
	for i := range 3 {
		b.producers = append(b.producers, b.client(kgo.TransactionalID(fmt.Sprintf("app-%d", i)), kgo.TransactionTimeout(10*time.Minute)))
	}
	return b
}

// bounded is a context for one step of a client.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), itest.Stuck)
}

func (b *book) begin(producer int) *transaction {
	b.p.Helper()
	b.begun++
	t := &transaction{producer: producer, number: b.begun, cl: b.producers[producer]}
	if err := t.cl.BeginTransaction(); err != nil {
		b.p.Fatalf("transaction %v begins: %v", t, err)
	}
	return t
}

func (b *book) end(t *transaction, commit bool) {
	b.p.Helper()
	ctx, cancel := bounded()
	defer cancel()
	if err := t.cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		b.p.Fatalf("transaction %v ends: %v", t, err)
	}
	t.ended, t.committed = true, commit
}

// writeAll writes a record to each partition in each of the transactions; nil is
// none.
func (b *book) writeAll(all ...*transaction) {
	b.p.Helper()
	if len(all) == 0 {
		all = []*transaction{nil}
	}
	for n := range b.count {
		for _, t := range all {
			b.write(n, t)
		}
	}
}

func (b *book) write(n int32, t *transaction) {
	b.p.Helper()
	cl := b.plain
	if t != nil {
		cl = t.cl
	}
	b.written++
	text := value(b.written, t)
	ctx, cancel := bounded()
	defer cancel()
	r, err := cl.ProduceSync(ctx, &kgo.Record{Topic: txnTopic, Partition: n, Value: []byte(text)}).First()
	if err != nil {
		b.p.Fatalf("record %q in partition %d: %v", text, n, err)
	}
	b.enter(n, line{text, t, r.Offset})
}

// enter notes a record that was acknowledged.
func (b *book) enter(n int32, l line) { b.lines[n] = append(b.lines[n], l) }

// committed are the values that readers of committed records see of a partition, up
// to the first record of a transaction that is open.
func (b *book) committed(n int32) (values []string) {
	for _, l := range b.lines[n] {
		switch {
		case l.in == nil || l.in.committed:
			values = append(values, l.value)
		case !l.in.ended:
			return values
		}
	}
	return values
}

// verify writes a last record to each partition, when no transaction is open, reads
// all up to it, and compares.
func (b *book) verify(when string) {
	b.p.Helper()
	b.writeAll()
	b.verifyCommitted(when)
	b.compare(when, kgo.ReadUncommitted(), func(n int32) (values []string) {
		for _, l := range b.lines[n] {
			values = append(values, l.value)
		}
		return values
	})
}

// verifyCommitted reads what is committed, when all markers of what has ended are
// written: EndTxn does not wait for them.
func (b *book) verifyCommitted(when string) {
	b.p.Helper()
	itest.Eventually(b.p, func() error {
		stable, ends := b.ends(kgo.ReadCommitted()), b.ends(kgo.ReadUncommitted())
		for n := range b.count {
			if want := b.stable(n, ends[n]); stable[n] != want {
				return fmt.Errorf("%s: the last stable offset of partition %d is %d, and is to be %d", when, n, stable[n], want)
			}
		}
		return nil
	})
	b.compare(when, kgo.ReadCommitted(), b.committed)
}

// stable is what the last stable offset of a partition is to be: where the first
// transaction begins that is open, or the end.
func (b *book) stable(n int32, end int64) int64 {
	for _, l := range b.lines[n] {
		if l.in != nil && !l.in.ended {
			return l.offset
		}
	}
	return end
}

// compare reads each partition for as long as there is something below the last
// stable offset.
func (b *book) compare(when string, level kgo.IsolationLevel, want func(n int32) []string) {
	b.p.Helper()
	seen := b.read(level, want)
	for n := range b.count {
		if !slices.Equal(seen[n], want(n)) {
			b.p.Errorf("%s: of partition %d %d records are seen, and %d are to be: first difference %s", when, n,
				len(seen[n]), len(want(n)), difference(seen[n], want(n)))
		}
	}
}

func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		a, b := "none", "none"
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			return fmt.Sprintf("at %d: %q, want %q", i, a, b)
		}
	}
	return "none"
}

// read reads all that a reader may see now: up to the last stable offset, or the
// high watermark, with the control records, so that it is known when all is read.
// Records of aborted transactions right below the last stable offset are not told
// of, so the end is reached as well when what is wanted is there.
func (b *book) read(level kgo.IsolationLevel, want func(int32) []string) map[int32][]string {
	b.p.Helper()
	ends := b.ends(level)
	from := map[int32]kgo.Offset{}
	for n := range b.count {
		from[n] = kgo.NewOffset().AtStart()
	}
	reader := b.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{txnTopic: from}), kgo.FetchIsolationLevel(level), kgo.KeepControlRecords())
	defer reader.Close()
	seen, at := map[int32][]string{}, map[int32]int64{}
	done := func() bool {
		for n := range b.count {
			if at[n] < ends[n] && len(seen[n]) < len(want(n)) {
				return false
			}
		}
		return true
	}
	for !done() {
		ctx, cancel := bounded()
		got := reader.PollFetches(ctx)
		cancel()
		if got.NumRecords() == 0 {
			b.p.Fatalf("reading: %v; at %v of %v", got.Errors(), at, ends)
		}
		got.EachRecord(func(r *kgo.Record) {
			at[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				seen[r.Partition] = append(seen[r.Partition], string(r.Value))
			}
		})
	}
	return seen
}

// ends are where a reader stops: the last stable offset for one of committed records.
func (b *book) ends(level kgo.IsolationLevel) map[int32]int64 {
	b.p.Helper()
	admin, ends := kadm.NewClient(b.plain), map[int32]int64{}
	list := admin.ListEndOffsets
	if level == kgo.ReadCommitted() {
		list = admin.ListCommittedOffsets
	}
	itest.Eventually(b.p, func() error {
		ctx, cancel := bounded()
		defer cancel()
		listed, err := list(ctx, txnTopic)
		if err == nil {
			err = listed.Error()
		}
		listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
		return err
	})
	return ends
}

// joined is the content of all files of a partition with a suffix, in order.
func joined(p *peer.Play, dir, partition, suffix string) string {
	p.Helper()
	names, err := filepath.Glob(filepath.Join(dir, partition, "*"+suffix))
	if err != nil {
		p.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names { // sorted by Glob
		raw, err := os.ReadFile(name)
		if err != nil {
			p.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}
