package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/kafka"
)

// describedTopic is a topic as "ottla topics --describe --json" prints it.
type describedTopic struct {
	Topic      string               `json:"topic"`
	ID         string               `json:"topicId"`
	Factor     int                  `json:"replicationFactor"`
	Configs    []string             `json:"configs"`
	Partitions []describedPartition `json:"partitions"`
}

type describedPartition struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leaderEpoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	Offline     []int32 `json:"offlineReplicas"`
}

func (f *topicsFlags) describe(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	topics, err := f.collect(ctx, admin)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return printJSON(cmd.OutOrStdout(), topics)
	}
	partitions := &table{}
	partitions.row("TOPIC", "PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "OFFLINE")
	for _, t := range topics {
		fmt.Fprintf(cmd.OutOrStdout(), "Topic: %s  TopicId: %s  PartitionCount: %d  ReplicationFactor: %d  Configs: %s\n",
			t.Topic, t.ID, len(t.Partitions), t.Factor, strings.Join(t.Configs, ","))
		for _, p := range t.Partitions {
			leader := fmt.Sprint(p.Leader)
			if p.Leader < 0 {
				leader = "none"
			}
			partitions.row(t.Topic, p.Partition, leader, p.LeaderEpoch, joined(p.Replicas), joined(p.ISR), joined(p.Offline))
		}
	}
	if len(partitions.rows) == 1 {
		return nil
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return partitions.print(cmd.OutOrStdout())
}

// collect asks for the topics and their settings.
func (f *topicsFlags) collect(ctx context.Context, admin *cluster) ([]describedTopic, error) {
	details, err := admin.ListTopicsWithInternal(ctx, f.topicNames()...)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %s", plain(err))
	}
	found := []describedTopic{}
	for _, d := range details.Sorted() {
		switch {
		case d.Err != nil && f.unlessMissing(d.Err) != nil:
			return nil, refused(fmt.Sprintf("describe topic %q", d.Topic), d.Err, missingHint(d.Err))
		case d.Err != nil, f.excludeInternal && d.IsInternal:
			continue
		}
		t := describedTopic{Topic: d.Topic, ID: kafka.UUID(d.ID).String(), Factor: d.Partitions.NumReplicas()}
		for _, p := range d.Partitions.Sorted() {
			if f.wanted(p) {
				t.Partitions = append(t.Partitions, describedPartition{p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, p.OfflineReplicas})
			}
		}
		if len(t.Partitions) > 0 {
			found = append(found, t)
		}
	}
	return f.withSettings(ctx, admin, found)
}

// withSettings adds the topics' own settings, and leaves out topics without any
// if that was asked for.
func (f *topicsFlags) withSettings(ctx context.Context, admin *cluster, topics []describedTopic) ([]describedTopic, error) {
	if len(topics) == 0 {
		return topics, nil
	}
	var names []string
	for _, t := range topics {
		names = append(names, t.Topic)
	}
	settings, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("describe settings: %s", plain(err))
	}
	kept := topics[:0]
	for _, t := range topics {
		c, err := settings.On(t.Topic, nil)
		if err != nil {
			return nil, refused(fmt.Sprintf("describe settings of topic %q", t.Topic), err, c.ErrMessage)
		}
		if t.Configs = own(c); !f.overrides || len(t.Configs) > 0 {
			kept = append(kept, t)
		}
	}
	return kept, nil
}
