package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicsFlags are the flags of "ottla topics", named as those of kafka-topics.
type topicsFlags struct {
	clientFlags
	topic           string
	partitions      int32
	factor          int16
	assignment      string
	configs         []string
	ifExists        bool
	ifNotExists     bool
	excludeInternal bool
	underReplicated bool
	unavailable     bool
	overrides       bool
}

// newTopicsCmd is "ottla topics": Kafka's kafka-topics.
func newTopicsCmd() *cobra.Command {
	f := &topicsFlags{}
	cmd := &cobra.Command{
		Use:   "topics (--list | --describe | --create | --alter | --delete)",
		Short: "List, describe, create, alter and delete topics",
		Example: `  ottla topics --create --topic t --partitions 3 --config retention.ms=60000
  ottla topics --describe --topic t,u
  ottla topics list --json`,
	}
	act := defineActions(cmd, "list", "print the names of topics", "describe", "print partitions, leaders, replicas and settings",
		"create", "create a topic", "alter", "add partitions to a topic", "delete", "delete topics")
	cmd.RunE = act.run(&f.clientFlags, f.do)
	f.define(cmd)
	f.defineJSON(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.topic, "topic", "", "topic, or several separated by commas")
	flags.Int32Var(&f.partitions, "partitions", -1, "number of partitions; without it the cluster's default")
	flags.Int16Var(&f.factor, "replication-factor", -1, "replicas of each partition; without it the cluster's default")
	flags.StringVar(&f.assignment, "replica-assignment", "", "brokers of each partition: 1:2,2:3 puts partition 0 on brokers 1 and 2")
	flags.StringArrayVar(&f.configs, "config", nil, "setting of a new topic, as key=value (repeatable)")
	flags.BoolVar(&f.ifExists, "if-exists", false, "with --alter, --delete and --describe: a topic that is missing is no error")
	flags.BoolVar(&f.ifNotExists, "if-not-exists", false, "with --create: a topic that is there is no error")
	flags.BoolVar(&f.excludeInternal, "exclude-internal", false, "leave out Kafka's own topics")
	flags.BoolVar(&f.underReplicated, "under-replicated-partitions", false, "with --describe: only partitions with a replica out of sync")
	flags.BoolVar(&f.unavailable, "unavailable-partitions", false, "with --describe: only partitions without a leader")
	flags.BoolVar(&f.overrides, "topics-with-overrides", false, "with --describe: only topics with settings of their own")
	return cmd
}

func (f *topicsFlags) do(ctx context.Context, cmd *cobra.Command, admin *cluster, action string) error {
	if f.topic == "" && action != "list" && action != "describe" {
		return fmt.Errorf("--%s needs --topic", action)
	}
	switch action {
	case "list":
		return f.list(ctx, cmd, admin)
	case "describe":
		return f.describe(ctx, cmd, admin)
	case "create":
		return f.create(ctx, cmd, admin)
	case "alter":
		return f.alter(ctx, cmd, admin)
	}
	return f.delete(ctx, cmd, admin)
}

// topicNames are the topics that were named, none for all.
func (f *topicsFlags) topicNames() []string {
	if f.topic == "" {
		return nil
	}
	return strings.Split(f.topic, ",")
}

func (f *topicsFlags) list(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	topics, err := admin.ListTopicsWithInternal(ctx, f.topicNames()...)
	if err != nil {
		return fmt.Errorf("list topics: %s", plain(err))
	}
	names := []string{}
	for _, t := range topics.Sorted() {
		if t.Err == nil && !(f.excludeInternal && t.IsInternal) {
			names = append(names, t.Topic)
		}
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), names)
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), name); err != nil {
			return err
		}
	}
	return nil
}

func (f *topicsFlags) create(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = f.topic, f.partitions, f.factor
	settings, err := pairs("config", f.configs)
	if err != nil {
		return err
	}
	for key, value := range settings {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
	}
	if f.assignment != "" {
		if f.partitions > 0 || f.factor > 0 {
			return errors.New("--replica-assignment excludes --partitions and --replication-factor")
		}
		if topic.ReplicaAssignment, err = parseAssignment(f.assignment); err != nil {
			return err
		}
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, topic), int32(f.requestTimeout().Milliseconds())
	resp, err := req.RequestWith(ctx, admin.raw)
	if err != nil {
		return fmt.Errorf("create topic %q: %s", f.topic, plain(err))
	}
	for _, t := range resp.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case err == nil:
		case errors.Is(err, kerr.TopicAlreadyExists) && f.ifNotExists:
			return nil
		default:
			return refused(fmt.Sprintf("create topic %q", t.Topic), err, text(t.ErrorMessage))
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Created topic %s.\n", f.topic)
	return err
}

// parseAssignment reads the brokers of partitions 0, 1, ...: 1:2,2:3.
func parseAssignment(list string) ([]kmsg.CreateTopicsRequestTopicReplicaAssignment, error) {
	var all []kmsg.CreateTopicsRequestTopicReplicaAssignment
	for i, brokers := range strings.Split(list, ",") {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition = int32(i)
		for broker := range strings.SplitSeq(brokers, ":") {
			id, err := strconv.ParseInt(strings.TrimSpace(broker), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("--replica-assignment: %q is not a broker's id", broker)
			}
			a.Replicas = append(a.Replicas, int32(id))
		}
		all = append(all, a)
	}
	return all, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (f *topicsFlags) alter(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	if f.partitions <= 0 {
		return errors.New("--alter needs --partitions with the new number; settings are changed by ottla configs")
	}
	answers, err := admin.UpdatePartitions(ctx, int(f.partitions), f.topicNames()...)
	if err != nil {
		return fmt.Errorf("add partitions: %s", plain(err))
	}
	for _, a := range answers.Sorted() {
		if err := f.unlessMissing(a.Err); err != nil {
			return refused(fmt.Sprintf("add partitions to topic %q", a.Topic), err, a.ErrMessage)
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Topic %s has %d partitions.\n", f.topic, f.partitions)
	return err
}

func (f *topicsFlags) delete(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	answers, err := admin.DeleteTopics(ctx, f.topicNames()...)
	if err != nil {
		return fmt.Errorf("delete topics: %s", plain(err))
	}
	for _, a := range answers.Sorted() {
		if err := f.unlessMissing(a.Err); err != nil {
			return refused(fmt.Sprintf("delete topic %q", a.Topic), err, a.ErrMessage)
		}
		if a.Err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "Deleted topic %s.\n", a.Topic)
		}
	}
	return nil
}

// missingHint says in plain words that a topic is not there; "" for any other
// error.
func missingHint(err error) string {
	if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) {
		return "it does not exist"
	}
	return ""
}

// unlessMissing drops the error of a topic that is not there, if that was
// asked for.
func (f *topicsFlags) unlessMissing(err error) error {
	if f.ifExists && missingHint(err) != "" {
		return nil
	}
	return err
}

// wanted tells whether a partition is among those asked for.
func (f *topicsFlags) wanted(p kadm.PartitionDetail) bool {
	switch {
	case f.underReplicated && len(p.ISR) >= len(p.Replicas), f.unavailable && p.Leader >= 0:
		return false
	}
	return true
}

// own are the settings that a topic has itself, as key=value.
func own(c kadm.ResourceConfig) []string {
	var settings []string
	for _, e := range c.Configs {
		if e.Source == kmsg.ConfigSourceDynamicTopicConfig {
			settings = append(settings, e.Key+"="+e.MaybeValue())
		}
	}
	slices.Sort(settings)
	return settings
}
