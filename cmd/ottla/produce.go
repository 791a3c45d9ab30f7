package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produceFlags are the flags of "ottla produce", named as those of
// kafka-console-producer.
type produceFlags struct {
	clientFlags
	topic       string
	partition   int32
	keySep      string
	acks        string
	compression string
	properties  []string
}

// newProduceCmd is "ottla produce": Kafka's kafka-console-producer.
func newProduceCmd() *cobra.Command {
	f := &produceFlags{}
	cmd := &cobra.Command{
		Use:   "produce --topic TOPIC",
		Short: "Write lines of the standard input as records",
		Example: `  seq 10000 | ottla produce --topic numbers
  echo 'k:v' | ottla produce --topic t --key-separator : --acks all --compression zstd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.topic, "topic", "", "topic to write to; it is created if the cluster allows that")
	flags.Int32Var(&f.partition, "partition", -1, "partition to write to; -1 lets keys decide")
	flags.StringVar(&f.keySep, "key-separator", "", "what parts a line's key from its value; without it lines have no key")
	flags.StringVar(&f.acks, "acks", "all", "replicas that must have a record: all, 1 or 0")
	flags.StringVar(&f.acks, "request-required-acks", "all", "the same as --acks; -1 is all")
	flags.StringVar(&f.compression, "compression", "none", "codec of batches: none, gzip, snappy, lz4 or zstd")
	flags.StringVar(&f.compression, "compression-codec", "none", "the same as --compression")
	flags.StringArrayVar(&f.properties, "reader-property", nil, "parse.key=true and key.separator=S, as kafka-console-producer takes them (repeatable)")
	flags.StringArrayVar(&f.properties, "property", nil, "the same as --reader-property")
	require(cmd, "topic")
	return cmd
}

func (f *produceFlags) run(cmd *cobra.Command) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	client, err := f.connect(cmd.Context(), options...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := context.WithCancelCause(cmd.Context())
	defer stop(nil)
	s := &sending{client: client, topic: f.topic, partition: f.partition, keySep: f.keySep, ctx: ctx, stop: stop}
	s.waiting = newPatience(f.timeout, stop)
	defer s.waiting.end()
	return s.all(cmd.InOrStdin())
}

// options turns the flags into those of the client.
func (f *produceFlags) options() ([]kgo.Opt, error) {
	properties, err := pairs("reader-property", f.properties)
	if err != nil {
		return nil, err
	}
	if properties["parse.key"] == "true" && f.keySep == "" {
		f.keySep = "\t"
	}
	if sep := properties["key.separator"]; sep != "" && f.keySep != "" {
		f.keySep = strings.ReplaceAll(sep, `\t`, "\t")
	}
	options := []kgo.Opt{kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(20), kgo.ProducerBatchMaxBytes(1 << 20), kgo.RecordDeliveryTimeout(max(2*f.timeout, leastDelivery))}
	switch f.acks {
	case "all", "-1":
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, fmt.Errorf("--acks %q is not one of: all, 1, 0", f.acks)
	}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, known := codecs[f.compression]
	if !known {
		return nil, fmt.Errorf("--compression %q is not one of: none, gzip, snappy, lz4, zstd", f.compression)
	}
	options = append(options, kgo.ProducerBatchCompression(codec))
	if f.partition >= 0 {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	return options, nil
}

// leastDelivery is the shortest time for a record that the client takes.
const leastDelivery = time.Second

// sending is lines on their way to a topic. The client batches them and keeps
// their order; a line that is refused ends it all.
type sending struct {
	client    *kgo.Client
	topic     string
	partition int32
	keySep    string

	ctx     context.Context
	stop    context.CancelCauseFunc
	waiting *patience
}

// all sends the lines and waits for what becomes of them. A read of a terminal
// cannot be interrupted: when sending ends early the reader is left where it
// is, and ends with the program.
func (s *sending) all(in io.Reader) error {
	read := make(chan error, 1)
	go func() { read <- s.lines(in) }()
	select {
	case err := <-read:
		if err != nil {
			return err
		}
	case <-s.ctx.Done():
	}
	flushErr := s.client.Flush(s.ctx)
	if cause := context.Cause(s.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return flushErr
}

// lines hands all lines to the client.
func (s *sending) lines(in io.Reader) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for number := 1; s.ctx.Err() == nil; number++ {
		line, err := reader.ReadString('\n')
		if line != "" {
			record, lineErr := s.record(strings.TrimRight(line, "\r\n"), number)
			if lineErr != nil {
				s.stop(lineErr)
				return nil
			}
			s.waiting.sent()
			s.client.Produce(s.ctx, record, func(_ *kgo.Record, err error) { s.done(number, err) })
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the standard input: %w", err)
		}
	}
	return nil
}

func (s *sending) record(line string, number int) (*kgo.Record, error) {
	r := &kgo.Record{Topic: s.topic, Partition: s.partition, Value: []byte(line)}
	if s.keySep == "" {
		return r, nil
	}
	key, value, ok := strings.Cut(line, s.keySep)
	if !ok {
		return nil, fmt.Errorf("line %d has no key separator %q: %s", number, s.keySep, strconv.Quote(line))
	}
	r.Key, r.Value = []byte(key), []byte(value)
	return r, nil
}

// done takes the fate of one line; only the first failure counts, since those
// behind it fail for the same reason.
func (s *sending) done(number int, err error) {
	switch {
	case err == nil:
		s.waiting.acknowledged()
	case errors.Is(err, context.Canceled):
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		s.stop(fmt.Errorf("topic %q does not exist; create it with ottla topics --create --topic %s", s.topic, s.topic))
	default:
		s.stop(fmt.Errorf("line %d was refused: %s", number, plain(err)))
	}
}
