package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// logDirsFlags are the flags of "ottla log-dirs", named as those of
// kafka-log-dirs.
type logDirsFlags struct {
	clientFlags
	describe bool
	brokers  string
	topics   string
}

// newLogDirsCmd is "ottla log-dirs": Kafka's kafka-log-dirs.
func newLogDirsCmd() *cobra.Command {
	f := &logDirsFlags{}
	cmd := &cobra.Command{
		Use:     "log-dirs",
		Short:   "Print what lies in the log directories of brokers, or move it between them",
		Example: "  ottla log-dirs --broker-list 1,2 --topic-list t\n  ottla log-dirs move t:0 --broker 1 --to /data/2",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return helpOrUnknown(cmd, args)
			}
			return f.admin(cmd, func(ctx context.Context, admin *cluster) error { return f.run(ctx, cmd, admin) })
		},
	}
	f.define(cmd)
	f.defineJSON(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.describe, "describe", false, "print the directories, as without it")
	flags.StringVar(&f.brokers, "broker-list", "", "ids of brokers, separated by commas; without it all")
	flags.StringVar(&f.topics, "topic-list", "", "topics, separated by commas; without it all")
	cmd.AddCommand(newLogDirsMoveCmd())
	return cmd
}

// brokerDirs is a broker as --json prints it, in the form of kafka-log-dirs.
type brokerDirs struct {
	Broker int32    `json:"broker"`
	Dirs   []logDir `json:"logDirs"`
}

type logDir struct {
	Path       string         `json:"logDir"`
	Error      *string        `json:"error"`
	Total      int64          `json:"totalBytes"`
	Usable     int64          `json:"usableBytes"`
	Cordoned   bool           `json:"isCordoned"`
	Partitions []dirPartition `json:"partitions"`
}

type dirPartition struct {
	Partition string `json:"partition"`
	Size      int64  `json:"size"`
	Lag       int64  `json:"offsetLag"`
	Future    bool   `json:"isFuture"`
}

func (f *logDirsFlags) run(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	wanted, err := f.wantedBrokers()
	if err != nil {
		return err
	}
	if err := f.topicsExist(ctx, admin); err != nil {
		return err
	}
	answers, err := admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return fmt.Errorf("describe log directories: %s", plain(err))
	}
	var brokers []brokerDirs
	for _, a := range sortedDirs(answers) {
		if len(wanted) > 0 && !slices.Contains(wanted, a.Broker) {
			continue
		}
		if n := len(brokers); n == 0 || brokers[n-1].Broker != a.Broker {
			brokers = append(brokers, brokerDirs{Broker: a.Broker})
		}
		last := &brokers[len(brokers)-1]
		last.Dirs = append(last.Dirs, f.newLogDir(a))
	}
	for _, id := range wanted {
		if !slices.ContainsFunc(brokers, func(b brokerDirs) bool { return b.Broker == id }) {
			return fmt.Errorf("broker %d does not exist or does not answer", id)
		}
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), map[string]any{"version": 1, "brokers": brokers})
	}
	return f.print(cmd, brokers)
}

// topicsExist names the first topic of the list that is not there: without it
// the table would only be shorter.
func (f *logDirsFlags) topicsExist(ctx context.Context, admin *cluster) error {
	if f.topics == "" {
		return nil
	}
	names := strings.Split(f.topics, ",")
	topics, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return fmt.Errorf("look for topics: %s", plain(err))
	}
	for _, name := range names {
		if d, found := topics[name]; !found || missingHint(d.Err) != "" {
			return fmt.Errorf("topic %q does not exist", name)
		}
	}
	return nil
}

func (f *logDirsFlags) wantedBrokers() ([]int32, error) {
	var ids []int32
	for text := range strings.SplitSeq(f.brokers, ",") {
		if text == "" {
			continue
		}
		id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--broker-list: %q is not the id of a broker", text)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}

func sortedDirs(answers kadm.DescribedAllLogDirs) []kadm.DescribedLogDir {
	var all []kadm.DescribedLogDir
	for _, dirs := range answers {
		for _, dir := range dirs {
			all = append(all, dir)
		}
	}
	slices.SortFunc(all, func(a, b kadm.DescribedLogDir) int {
		return byPlace("", a.Broker, "", b.Broker)*2 + strings.Compare(a.Dir, b.Dir)
	})
	return all
}

func (f *logDirsFlags) newLogDir(a kadm.DescribedLogDir) logDir {
	d := logDir{Path: a.Dir, Total: a.TotalBytes, Usable: a.UsableBytes, Cordoned: a.IsCordoned, Partitions: []dirPartition{}}
	if a.Err != nil {
		why := plain(a.Err)
		d.Error = &why
	}
	var parts []kadm.DescribedLogDirPartition
	for _, byPartition := range a.Topics {
		for _, p := range byPartition {
			if f.topics == "" || slices.Contains(strings.Split(f.topics, ","), p.Topic) {
				parts = append(parts, p)
			}
		}
	}
	slices.SortFunc(parts, func(a, b kadm.DescribedLogDirPartition) int {
		return byPlace(a.Topic, a.Partition, b.Topic, b.Partition)
	})
	for _, p := range parts {
		d.Partitions = append(d.Partitions, dirPartition{fmt.Sprintf("%s-%d", p.Topic, p.Partition), p.Size, p.OffsetLag, p.IsFuture})
	}
	return d
}

func (f *logDirsFlags) print(cmd *cobra.Command, brokers []brokerDirs) error {
	dirs, parts := &table{}, &table{}
	dirs.row("BROKER", "DIRECTORY", "STATE", "USED", "USABLE", "TOTAL", "PARTITIONS")
	parts.row("BROKER", "PARTITION", "SIZE", "LAG", "DIRECTORY")
	for _, b := range brokers {
		for _, d := range b.Dirs {
			used := int64(0)
			for _, p := range d.Partitions {
				used += p.Size
				name := p.Partition
				if p.Future {
					name += " (future)"
				}
				parts.row(b.Broker, name, p.Size, p.Lag, d.Path)
			}
			dirs.row(b.Broker, d.Path, d.state(), used, d.Usable, d.Total, len(d.Partitions))
		}
	}
	if err := dirs.print(cmd.OutOrStdout()); err != nil || len(parts.rows) == 1 {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return parts.print(cmd.OutOrStdout())
}

func (d logDir) state() string {
	switch {
	case d.Error != nil:
		return *d.Error
	case d.Cordoned:
		return "cordoned"
	}
	return "online"
}
