package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/kafka"
)

// disksFlags are the flags of "ottla disks".
type disksFlags struct {
	clientFlags
	brokers string
}

// newDisksCmd is "ottla disks".
func newDisksCmd() *cobra.Command {
	f := &disksFlags{}
	cmd := &cobra.Command{
		Use:   "disks",
		Short: "Show the disks of brokers, replace one, or take one back",
		Example: `  ottla disks --broker-list 1,2
  ottla disks replace /data/3 --config server.properties`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return helpOrUnknown(cmd, args)
			}
			return f.admin(cmd, func(ctx context.Context, admin *cluster) error { return f.run(ctx, cmd, admin) })
		},
	}
	f.define(cmd)
	f.defineJSON(cmd)
	cmd.Flags().StringVar(&f.brokers, "broker-list", "", "ids of brokers, separated by commas; without it all")
	cmd.AddCommand(newDisksReplaceCmd(), newDisksReadmitCmd())
	return cmd
}

// disk is a log directory as "ottla disks" shows it.
type disk struct {
	Broker   int32  `json:"broker"`
	Path     string `json:"path,omitempty"`
	ID       string `json:"id,omitempty"` // where the broker is one of ours
	State    string `json:"state"`        // online, cordoned, offline, or unreachable
	Why      string `json:"why,omitempty"`
	Total    int64  `json:"totalBytes"` // of the volume; -1: not known
	Usable   int64  `json:"usableBytes"`
	Bytes    int64  `json:"logBytes"` // of the logs in it
	Replicas int    `json:"replicas"`
	Leaders  int    `json:"leaders"`
	Moving   int    `json:"futureReplicas"`
}

func (f *disksFlags) run(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	wanted, err := (&logDirsFlags{brokers: f.brokers}).wantedBrokers()
	if err != nil {
		return err
	}
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("list brokers: %s", plain(err))
	}
	topics, err := admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %s", plain(err))
	}
	list := []disk{}
	for _, id := range brokers.NodeIDs() {
		if len(wanted) == 0 || slices.Contains(wanted, id) {
			list = append(list, disksOf(ctx, admin, id, topics)...)
		}
	}
	for _, id := range wanted {
		if !slices.Contains(brokers.NodeIDs(), id) {
			return fmt.Errorf("broker %d does not exist or is not up", id)
		}
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), map[string]any{"version": 1, "disks": list})
	}
	return disksTable(list).print(cmd.OutOrStdout())
}

// disksOf asks one broker.
func disksOf(ctx context.Context, admin *cluster, id int32, topics kadm.TopicDetails) []disk {
	got, err := admin.raw.Broker(int(id)).RetriableRequest(ctx, kmsg.NewPtrDescribeLogDirsRequest())
	if err == nil {
		err = kerr.ErrorForCode(got.(*kmsg.DescribeLogDirsResponse).ErrorCode)
	}
	if err != nil {
		return []disk{{Broker: id, State: "unreachable", Why: plain(err), Total: -1, Usable: -1}}
	}
	var list []disk
	for _, dir := range got.(*kmsg.DescribeLogDirsResponse).Dirs {
		list = append(list, newDisk(id, dir, topics))
	}
	slices.SortFunc(list, func(a, b disk) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

func newDisk(broker int32, dir kmsg.DescribeLogDirsResponseDir, topics kadm.TopicDetails) disk {
	d := disk{Broker: broker, Path: dir.Dir, State: "online", Total: dir.TotalBytes, Usable: dir.UsableBytes}
	if dir.IsCordoned {
		d.State = "cordoned"
	}
	if err := kerr.ErrorForCode(dir.ErrorCode); err != nil {
		d.State, d.Why = "offline", plain(err)
	}
	dir.UnknownTags.Each(func(tag uint32, value []byte) {
		switch tag {
		case api.DirIDTag:
			var id kafka.DirID
			copy(id[:], value)
			d.ID = id.String()
		case api.DirWhyTag:
			d.Why = strings.Join(strings.Fields(string(value)), " ")
		}
	})
	for _, t := range dir.Topics {
		for _, p := range t.Partitions {
			d.Bytes += p.Size
			switch {
			case p.IsFuture:
				d.Moving++
				continue
			case topics[t.Topic].Partitions[p.Partition].Leader == broker:
				d.Leaders++
			}
			d.Replicas++
		}
	}
	return d
}

func disksTable(list []disk) *table {
	t := &table{}
	t.row("BROKER", "DIRECTORY", "STATE", "VOLUME", "USED", "TOTAL", "LOGS", "REPLICAS", "LEADERS", "ID", "WHY")
	for _, d := range list {
		used, total := "-", "-"
		if d.Total >= 0 {
			used, total = size(d.Total-d.Usable), size(d.Total)
		}
		logs, replicas, leaders := size(d.Bytes), fmt.Sprint(d.Replicas), fmt.Sprint(d.Leaders)
		if d.State == "offline" || d.State == "unreachable" {
			logs, replicas, leaders = "-", "-", "-"
		}
		t.row(d.Broker, orDash(d.Path), d.State, d.bar(), used, total, logs, replicas, leaders, orDash(d.ID), d.Why)
	}
	return t
}

// barWidth is the length of a bar that is full.
const barWidth = 10

// bar shows how full the volume is.
func (d disk) bar() string {
	if d.Total <= 0 {
		return strings.Repeat("·", barWidth)
	}
	used := float64(d.Total-d.Usable) / float64(d.Total)
	full := min(max(int(used*barWidth+0.5), 0), barWidth)
	return fmt.Sprintf("%s%s %3.0f%%", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), used*100)
}

// size writes bytes for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < len("KMGTPE")-1 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[prefix])
}
