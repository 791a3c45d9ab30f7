package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// moveFlags are the flags of "ottla log-dirs move".
type moveFlags struct {
	clientFlags
	broker int32
	to     string
	wait   bool
}

// newLogDirsMoveCmd is "ottla log-dirs move".
func newLogDirsMoveCmd() *cobra.Command {
	f := &moveFlags{}
	cmd := &cobra.Command{
		Use:   "move TOPIC[:PARTITION,...]... --broker ID --to DIR",
		Short: "Move replicas of a broker to another of its log directories, while they are in use",
		Long: `Move replicas of a broker to another of its log directories, while they are in use.

DIR is a path as "ottla log-dirs" prints it; the directory in which a replica lies ends
its move. Of a topic without partitions all replicas of the broker are moved. The rate
is bounded by replica.alter.log.dirs.io.max.bytes.per.second.`,
		Example: `  ottla log-dirs move clicks:0,3 orders --broker 1 --to /data/2 --wait`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.admin(cmd, func(ctx context.Context, admin *cluster) error { return f.run(ctx, cmd, admin, args) })
		},
	}
	f.define(cmd)
	flags := cmd.Flags()
	flags.Int32Var(&f.broker, "broker", 0, "id of the broker")
	flags.StringVar(&f.to, "to", "", "path of the directory")
	flags.BoolVar(&f.wait, "wait", false, "wait until the replicas are there, and print how far they are")
	require(cmd, "broker")
	require(cmd, "to")
	return cmd
}

// moved is a replica that is to move.
type moved struct {
	topic     string
	partition int32
}

func (m moved) String() string { return fmt.Sprintf("%s-%d", m.topic, m.partition) }

func (f *moveFlags) run(ctx context.Context, cmd *cobra.Command, admin *cluster, args []string) error {
	list, err := f.replicas(ctx, admin, args)
	if err != nil {
		return err
	}
	begun, failed, err := f.begin(ctx, admin, list)
	if err != nil {
		return err
	}
	for _, m := range begun {
		fmt.Fprintf(cmd.OutOrStdout(), "%s moves to %s\n", m, f.to)
	}
	if f.wait {
		failed = errors.Join(failed, f.follow(ctx, cmd, admin, begun))
	}
	return failed
}

// replicas are those that the arguments name.
func (f *moveFlags) replicas(ctx context.Context, admin *cluster, args []string) (list []moved, err error) {
	for _, arg := range args {
		topic, parts, some := strings.Cut(arg, ":")
		if !some {
			all, err := f.replicasOf(ctx, admin, topic)
			if err != nil {
				return nil, err
			}
			list = append(list, all...)
			continue
		}
		for text := range strings.SplitSeq(parts, ",") {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%q in %q is not the number of a partition", text, arg)
			}
			list = append(list, moved{topic, int32(n)})
		}
	}
	return list, nil
}

func (f *moveFlags) replicasOf(ctx context.Context, admin *cluster, topic string) (list []moved, err error) {
	topics, err := admin.ListTopicsWithInternal(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("look for topic %q: %s", topic, plain(err))
	}
	if d := topics[topic]; d.Err != nil {
		return nil, fmt.Errorf("topic %q: %s", topic, plain(d.Err))
	}
	for _, p := range topics[topic].Partitions.Sorted() {
		if slices.Contains(p.Replicas, f.broker) {
			list = append(list, moved{topic, p.Partition})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("broker %d has no replica of topic %q", f.broker, topic)
	}
	return list, nil
}

// begin asks the broker. failed names the replicas that it does not move.
func (f *moveFlags) begin(ctx context.Context, admin *cluster, list []moved) (begun []moved, failed, err error) {
	dir := kmsg.NewAlterReplicaLogDirsRequestDir()
	dir.Dir = f.to
	for _, m := range list {
		i := slices.IndexFunc(dir.Topics, func(t kmsg.AlterReplicaLogDirsRequestDirTopic) bool { return t.Topic == m.topic })
		if i < 0 {
			t := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
			t.Topic = m.topic
			i, dir.Topics = len(dir.Topics), append(dir.Topics, t)
		}
		dir.Topics[i].Partitions = append(dir.Topics[i].Partitions, m.partition)
	}
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Dirs = append(req.Dirs, dir)
	got, err := admin.raw.Broker(int(f.broker)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, nil, fmt.Errorf("ask broker %d: %s", f.broker, plain(err))
	}
	var errs []error
	for _, t := range got.(*kmsg.AlterReplicaLogDirsResponse).Topics {
		for _, p := range t.Partitions {
			m := moved{t.Topic, p.Partition}
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				errs = append(errs, fmt.Errorf("%s does not move: %s", m, whyNot(err)))
				continue
			}
			begun = append(begun, m)
		}
	}
	return begun, errors.Join(errs...), nil
}

// whyNot tells what an answer to AlterReplicaLogDirs means.
func whyNot(err error) string {
	switch {
	case errors.Is(err, kerr.LogDirNotFound):
		return "the broker has no log directory of exactly that path"
	case errors.Is(err, kerr.KafkaStorageError):
		return "a log directory of the broker is offline"
	case errors.Is(err, kerr.ReplicaNotAvailable):
		return "it is not at this broker; when it comes, it is made in that directory"
	case errors.Is(err, kerr.InvalidReplicaAssignment):
		return "the directory is cordoned"
	}
	return plain(err)
}

// lookEvery is how often moves are looked at.
const lookEvery = 200 * time.Millisecond

// follow waits until no replica moves, and tells of those that are not where they
// should be then.
func (f *moveFlags) follow(ctx context.Context, cmd *cobra.Command, admin *cluster, list []moved) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	last := ""
	for {
		at, err := f.look(ctx, admin, list)
		if err != nil {
			return err
		}
		if text := at.text(); text != last {
			fmt.Fprintln(cmd.OutOrStdout(), text)
			last = text
		}
		if at.moving == 0 {
			return at.elsewhere(f.to)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d replicas still move; the broker goes on with them", at.moving)
		case <-look.C:
		}
	}
}

// progress is how far moves are.
type progress struct {
	there, moving int
	copied, all   int64 // bytes of those that move
	others        []moved
}

func (p progress) text() string {
	if p.moving == 0 {
		return fmt.Sprintf("%d replicas are there", p.there)
	}
	return fmt.Sprintf("%d replicas are there, %d move: %s of %s", p.there, p.moving, size(p.copied), size(p.all))
}

func (p progress) elsewhere(dir string) error {
	var errs []error
	for _, m := range p.others {
		errs = append(errs, fmt.Errorf("%s is not in %s, and does not move there any more", m, dir))
	}
	return errors.Join(errs...)
}

func (f *moveFlags) look(ctx context.Context, admin *cluster, list []moved) (p progress, err error) {
	dirs, err := admin.DescribeBrokerLogDirs(ctx, f.broker, nil)
	if err != nil {
		return p, fmt.Errorf("describe the log directories of broker %d: %s", f.broker, plain(err))
	}
	for _, m := range list {
		here, there, future := int64(-1), false, int64(-1)
		dirs.Each(func(d kadm.DescribedLogDir) {
			d.Topics.Each(func(q kadm.DescribedLogDirPartition) {
				switch {
				case q.Topic != m.topic || q.Partition != m.partition:
				case q.IsFuture:
					future = q.Size
				default:
					here, there = q.Size, d.Dir == f.to
				}
			})
		})
		switch {
		case future >= 0:
			p.moving, p.copied, p.all = p.moving+1, p.copied+min(future, here), p.all+here
		case there:
			p.there++
		default:
			p.others = append(p.others, m)
		}
	}
	return p, nil
}
