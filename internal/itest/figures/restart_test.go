package figures

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/itest"
)

var logBytes = flag.Int64("log-bytes", 1<<30, "bytes of log that stand in the topic before the first kill")

const (
	topic   = "figures"
	cluster = "4L6g3nShT-eMCtK--X86sw"
)

// system is what is measured: how its folder is formatted and how it starts.
type system struct {
	name   string
	format func(b *testing.B, properties string)
	start  func(b *testing.B, properties string) *itest.Proc
}

var systems = []system{
	{
		name: "ottla",
		format: func(b *testing.B, properties string) {
			itest.Ottla(b, "", "storage", "format", "-c", properties, "-t", cluster)
		},
		start: func(b *testing.B, properties string) *itest.Proc {
			return itest.Start(b, "ottla server", exec.Command(itest.Bin(b), "server", properties))
		},
	},
	{
		name: "kafka",
		format: func(b *testing.B, properties string) {
			itest.MustKafkaTool(b, "", "kafka-storage", "format", "-c", properties, "-t", cluster)
		},
		start: func(b *testing.B, properties string) *itest.Proc { return itest.StartKafka(b, properties) },
	},
}

// BenchmarkFirstProduceAfterKill gives the time from the start of the process to
// the first record acknowledged (acks=all) by a topic that was there before, on
// the folder of a node that was killed with -log-bytes of log in that topic.
// Each of -benchtime Nx rounds kills and starts once.
func BenchmarkFirstProduceAfterKill(b *testing.B) {
	for _, s := range systems {
		b.Run(s.name, s.firstProduceAfterKill)
	}
}

func (s system) firstProduceAfterKill(b *testing.B) {
	properties, addr := combined(b, filepath.Join(b.TempDir(), "data"))
	s.format(b, properties)
	p := s.start(b, properties)
	itest.AwaitPort(b, addr)
	fill(b, addr, *logBytes)
	var rounds []time.Duration
	for b.Loop() {
		b.StopTimer()
		p.Kill()
		b.StartTimer()
		began := time.Now()
		p = s.start(b, properties)
		firstProduce(b, p, addr)
		rounds = append(rounds, time.Since(began))
		b.Logf("%s, %d bytes of log, round %d: first acknowledged produce after %v", s.name, *logBytes, len(rounds), rounds[len(rounds)-1].Round(time.Microsecond))
	}
	b.StopTimer()
	p.Stop(b)
	slices.Sort(rounds)
	b.ReportMetric(0, "ns/op") // the mean says less than the two below
	b.ReportMetric(milliseconds(rounds[len(rounds)/2]), "median-ms")
	b.ReportMetric(milliseconds(rounds[len(rounds)-1]), "worst-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// combined is the configuration of one node that is broker and controller.
func combined(b *testing.B, data string) (properties, addr string) {
	b.Helper()
	controller := itest.FreePort(b)
	addr = fmt.Sprintf("127.0.0.1:%d", itest.FreePort(b))
	return itest.WriteFile(b, "server.properties", fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d
controller.quorum.voters=1@127.0.0.1:%d
log.dirs=%s
offsets.topic.replication.factor=1
`, addr, controller, controller, data)), addr
}

// fill makes the topic and writes n bytes to it, in batches of about 1 MB.
func fill(b *testing.B, addr string, n int64) {
	b.Helper()
	itest.Eventually(b, func() error {
		p, err := dial(addr, itest.Stuck)
		if err != nil {
			return err
		}
		defer p.close()
		return p.create(topic)
	})
	big := records(1000)
	p := eventuallyProduced(b, addr, big)
	defer p.close()
	for written := int64(len(big)); written < n; written += int64(len(big)) {
		if err := p.c.SetDeadline(time.Now().Add(itest.Stuck)); err != nil {
			b.Fatal(err)
		}
		if err := p.produce(topic, big); err != nil {
			b.Fatal(err)
		}
	}
}

// eventuallyProduced writes a batch as soon as the topic has a leader.
func eventuallyProduced(b *testing.B, addr string, batch []byte) *peer {
	b.Helper()
	var p *peer
	itest.Eventually(b, func() (err error) {
		if p, err = dial(addr, itest.Stuck); err != nil {
			return err
		}
		if err = p.produce(topic, batch); err != nil {
			p.close()
		}
		return err
	})
	return p
}

// records makes a batch of n records of 1 KiB.
func records(n int) []byte {
	b := batch.NewBuilder(batch.Options{LeaderEpoch: kafka.NoEpoch})
	value := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for range n {
		b.Add(time.Now().UnixMilli(), nil, value)
	}
	return b.Build(nil)
}

// firstProduce asks again and again, as fast as it is answered, until a record
// is acknowledged.
func firstProduce(b *testing.B, p *itest.Proc, addr string) {
	b.Helper()
	one := records(1)
	var err error
	for deadline := time.Now().Add(5 * itest.Stuck); time.Now().Before(deadline); {
		if err = tryProduce(addr, one); err == nil {
			return
		}
		if !p.Running() {
			b.Fatalf("%s ended: %s", p.Name, p.Output())
		}
		<-time.After(time.Millisecond)
	}
	b.Fatalf("still: %v", err)
}

func tryProduce(addr string, one []byte) error {
	p, err := dial(addr, itest.Stuck)
	if err != nil {
		return err
	}
	defer p.close()
	return p.produce(topic, one)
}
