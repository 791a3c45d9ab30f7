package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// consumeFlags are the flags of "ottla consume", named as those of
// kafka-console-consumer.
type consumeFlags struct {
	clientFlags
	topic         string
	include       string
	group         string
	partition     int32
	offset        string
	fromBeginning bool
	maxMessages   int
	timeoutMs     int64
	isolation     string
	properties    []string
}

// newConsumeCmd is "ottla consume": Kafka's kafka-console-consumer.
func newConsumeCmd() *cobra.Command {
	f := &consumeFlags{}
	cmd := &cobra.Command{
		Use:   "consume --topic TOPIC",
		Short: "Print records as lines",
		Example: `  ottla consume --topic numbers --from-beginning --max-messages 10
  ottla consume --topic t --group g --property print.key=true --property print.offset=true`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd)
	f.defineJSON(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.topic, "topic", "", "topic to read")
	flags.StringVar(&f.include, "include", "", "regular expression of topics to read instead")
	flags.StringVar(&f.group, "group", "", "group to read in: it shares the partitions and remembers what was read")
	flags.Int32Var(&f.partition, "partition", -1, "partition to read; without it all are")
	flags.StringVar(&f.offset, "offset", "latest", "where to begin: earliest, latest or an offset; an offset needs --partition")
	flags.BoolVar(&f.fromBeginning, "from-beginning", false, "begin with the earliest record; a group that has read begins where it was")
	flags.IntVar(&f.maxMessages, "max-messages", 0, "end after so many records; 0 goes on")
	flags.Int64Var(&f.timeoutMs, "timeout-ms", 0, "end when no record has come for so long; 0 or less waits")
	flags.StringVar(&f.isolation, "isolation-level", "read_uncommitted", "read_committed leaves out records of aborted transactions")
	flags.StringArrayVar(&f.properties, "property", nil, "print.key, print.value, print.partition, print.offset, print.timestamp, print.headers = true or false; key.separator, line.separator, null.literal (repeatable)")
	flags.StringArrayVar(&f.properties, "formatter-property", nil, "the same as --property")
	return cmd
}

func (f *consumeFlags) run(cmd *cobra.Command) error {
	format, err := newRecordFormat(f.properties, f.asJSON)
	if err != nil {
		return err
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	if f.topic != "" {
		if err := f.admin(cmd, f.mustExist); err != nil {
			return err
		}
	}
	client, err := f.connect(cmd.Context(), options...)
	if err != nil {
		return err
	}
	defer client.Close()
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	n, err := f.read(cmd.Context(), client, func(r *kgo.Record) error { return format.print(out, r) }, out.Flush)
	if f.group != "" && err == nil {
		err = f.commit(client)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Processed a total of %d messages\n", n)
	return err
}

// options turns the flags into those of the client.
func (f *consumeFlags) options() ([]kgo.Opt, error) {
	start, err := f.start()
	if err != nil {
		return nil, err
	}
	if longest := int64(math.MaxInt64 / time.Millisecond); f.timeoutMs > longest {
		return nil, fmt.Errorf("--timeout-ms %d is more than %d", f.timeoutMs, longest)
	}
	options := []kgo.Opt{kgo.ConsumeResetOffset(start), kgo.FetchMaxWait(500 * time.Millisecond)}
	switch f.isolation {
	case "read_uncommitted":
	case "read_committed":
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	default:
		return nil, fmt.Errorf("--isolation-level %q is not one of: read_uncommitted, read_committed", f.isolation)
	}
	switch {
	case (f.topic == "") == (f.include == ""):
		return nil, errors.New("give either --topic or --include")
	case f.partition >= 0 && (f.topic == "" || f.group != ""):
		return nil, errors.New("--partition needs --topic and excludes --group")
	case f.partition >= 0:
		return append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{f.topic: {f.partition: start}})), nil
	case f.include != "":
		if _, err := regexp.Compile(f.include); err != nil {
			return nil, fmt.Errorf("--include: %w", err)
		}
		options = append(options, kgo.ConsumeTopics(f.include), kgo.ConsumeRegex())
	default:
		options = append(options, kgo.ConsumeTopics(f.topic))
	}
	if f.group != "" {
		options = append(options, kgo.ConsumerGroup(f.group), kgo.AutoCommitMarks())
	}
	return options, nil
}

// start is where to begin when nothing was read before.
func (f *consumeFlags) start() (kgo.Offset, error) {
	switch {
	case f.fromBeginning && f.offset != "latest":
		return kgo.Offset{}, errors.New("--from-beginning and --offset exclude each other")
	case f.fromBeginning, f.offset == "earliest":
		return kgo.NewOffset().AtStart(), nil
	case f.offset == "latest":
		return kgo.NewOffset().AtEnd(), nil
	}
	at, err := strconv.ParseInt(f.offset, 10, 64)
	switch {
	case err != nil || at < 0:
		return kgo.Offset{}, fmt.Errorf("--offset %q is not one of: earliest, latest, a number from 0", f.offset)
	case f.partition < 0:
		return kgo.Offset{}, errors.New("--offset with a number needs --partition")
	}
	return kgo.NewOffset().At(at), nil
}

// mustExist refuses a topic that is not there: the client would wait for it
// without a word.
func (f *consumeFlags) mustExist(ctx context.Context, admin *cluster) error {
	topics, err := admin.ListTopicsWithInternal(ctx, f.topic)
	if err != nil {
		return fmt.Errorf("look for topic %q: %s", f.topic, plain(err))
	}
	detail, found := topics[f.topic]
	switch {
	case !found || detail.Err != nil && len(detail.Partitions) == 0:
		return fmt.Errorf("topic %q does not exist; create it with ottla topics --create --topic %s", f.topic, f.topic)
	case f.partition >= int32(len(detail.Partitions)):
		return fmt.Errorf("topic %q has %d partitions, so there is no partition %d", f.topic, len(detail.Partitions), f.partition)
	}
	return nil
}

// read hands records on until there are enough, none has come for long, or it
// is told to stop, which is no error.
func (f *consumeFlags) read(ctx context.Context, client *kgo.Client, each func(*kgo.Record) error, flush func() error) (n int, err error) {
	for f.maxMessages == 0 || n < f.maxMessages {
		records, err := f.poll(ctx, client, f.maxMessages-n)
		if err != nil {
			return n, err
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			if err := each(r); err != nil {
				return n, fmt.Errorf("write: %w", err)
			}
		}
		if err := flush(); err != nil {
			return n, fmt.Errorf("write: %w", err)
		}
		client.MarkCommitRecords(records...)
		n += len(records)
	}
	return n, flush()
}

// poll waits for the next records, at most limit if that is above 0. None
// means that the wait is over.
func (f *consumeFlags) poll(ctx context.Context, client *kgo.Client, limit int) ([]*kgo.Record, error) {
	if f.timeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(f.timeoutMs)*time.Millisecond)
		defer cancel()
	}
	fetches := client.PollRecords(ctx, limit)
	records := fetches.Records()
	for _, e := range fetches.Errors() {
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled), len(records) > 0:
		default:
			return nil, fmt.Errorf("read %s: %s", e.Topic, plain(e.Err))
		}
	}
	return records, nil
}

// commit remembers what was printed. The command's own context may have ended
// by then.
func (f *consumeFlags) commit(client *kgo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		return fmt.Errorf("commit offsets of group %q: %s", f.group, plain(err))
	}
	return nil
}
