package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// groupsFlags are the flags of "ottla groups", named as those of
// kafka-consumer-groups.
type groupsFlags struct {
	clientFlags
	groups    []string
	allGroups bool
	members   bool
	state     bool
	offsets   bool
	topics    []string
	allTopics bool
	reset     resetFlags
}

// newGroupsCmd is "ottla groups": Kafka's kafka-consumer-groups.
func newGroupsCmd() *cobra.Command {
	f := &groupsFlags{}
	cmd := &cobra.Command{
		Use:   "groups (--list | --describe | --delete | --reset-offsets | --delete-offsets)",
		Short: "List and describe consumer groups, change their offsets, delete them",
		Example: `  ottla groups --describe --group g
  ottla groups --reset-offsets --group g --topic t:0,1 --to-earliest --execute`,
	}
	act := defineActions(cmd, "list", "print the names of groups", "describe", "print offsets and lag, --members or --state",
		"delete", "delete groups without members", "reset-offsets", "move the offsets of a group without members; without --execute it only shows them",
		"delete-offsets", "forget the offsets of topics")
	cmd.RunE = act.run(&f.clientFlags, f.do)
	f.define(cmd)
	f.defineJSON(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.groups, "group", nil, "group (repeatable)")
	flags.BoolVar(&f.allGroups, "all-groups", false, "all groups")
	flags.BoolVar(&f.members, "members", false, "with --describe: who is in the group")
	flags.BoolVar(&f.state, "state", false, "with --describe and --list: the group's state")
	flags.BoolVar(&f.offsets, "offsets", false, "with --describe: offsets and lag, as without it")
	flags.StringArrayVar(&f.topics, "topic", nil, "topic, or topic:0,1 for some of its partitions (repeatable)")
	flags.BoolVar(&f.allTopics, "all-topics", false, "all topics the group has offsets of")
	f.reset.define(cmd)
	return cmd
}

func (f *groupsFlags) do(ctx context.Context, cmd *cobra.Command, admin *cluster, action string) error {
	if action == "list" {
		return f.list(ctx, cmd, admin)
	}
	groups, err := f.chosen(ctx, admin)
	if err != nil {
		return err
	}
	switch action {
	case "describe":
		return f.describe(ctx, cmd, admin, groups)
	case "delete":
		return f.delete(ctx, cmd, admin, groups)
	case "delete-offsets":
		return f.deleteOffsets(ctx, cmd, admin, groups)
	}
	return f.resetOffsets(ctx, cmd, admin, groups)
}

// chosen are the groups that were named, or all there are.
func (f *groupsFlags) chosen(ctx context.Context, admin *cluster) ([]string, error) {
	switch {
	case f.allGroups == (len(f.groups) > 0):
		return nil, errors.New("give --group, or --all-groups")
	case !f.allGroups:
		return f.groups, awaitCoordinators(ctx, admin, f.groups)
	}
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list groups: %s", plain(err))
	}
	return listed.Groups(), nil
}

// awaitCoordinators waits until every group has a coordinator, at most as long as
// the context lasts: at first a new cluster has none, since the question makes it
// create the topic that groups live in.
func awaitCoordinators(ctx context.Context, admin *cluster, groups []string) error {
	for {
		err := admin.FindGroupCoordinators(ctx, groups...).Error()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !kerr.IsRetriable(err):
			return fmt.Errorf("find the coordinators of groups: %s", plain(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// listedGroup is a group as "ottla groups --list --json" prints it.
type listedGroup struct {
	Group    string `json:"group"`
	Type     string `json:"type"`
	Protocol string `json:"protocol"`
	State    string `json:"state"`
}

func (f *groupsFlags) list(ctx context.Context, cmd *cobra.Command, admin *cluster) error {
	answer, err := admin.ListGroups(ctx)
	if err != nil {
		return fmt.Errorf("list groups: %s", plain(err))
	}
	groups := []listedGroup{}
	for _, g := range answer.Sorted() {
		groups = append(groups, listedGroup{g.Group, g.GroupType, g.ProtocolType, g.State})
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), groups)
	}
	t := &table{}
	if f.state {
		t.row("GROUP", "TYPE", "PROTOCOL", "STATE")
	}
	for _, g := range groups {
		if f.state {
			t.row(g.Group, orDash(g.Type), orDash(g.Protocol), g.State)
		} else {
			t.row(g.Group)
		}
	}
	return t.print(cmd.OutOrStdout())
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (f *groupsFlags) delete(ctx context.Context, cmd *cobra.Command, admin *cluster, groups []string) error {
	answers, err := admin.DeleteGroups(ctx, groups...)
	if err != nil {
		return fmt.Errorf("delete groups: %s", plain(err))
	}
	for _, a := range answers.Sorted() {
		if a.Err != nil {
			return refused(fmt.Sprintf("delete group %q", a.Group), a.Err, groupHint(a.Err))
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Deleted group %s.\n", strings.Join(groups, ", "))
	return err
}

// groupHint says what to do about the errors that people meet most.
func groupHint(err error) string {
	switch {
	case errors.Is(err, kerr.NonEmptyGroup), errors.Is(err, kerr.UnknownMemberID):
		return "the group has members; stop its consumers first"
	case errors.Is(err, kerr.GroupIDNotFound):
		return "there is no such group"
	case errors.Is(err, kerr.GroupSubscribedToTopic):
		return "a member still reads that topic"
	}
	return ""
}

func (f *groupsFlags) deleteOffsets(ctx context.Context, cmd *cobra.Command, admin *cluster, groups []string) error {
	if len(f.topics) == 0 {
		return errors.New("--delete-offsets needs --topic")
	}
	for _, group := range groups {
		parts, err := f.partitions(ctx, admin, group)
		if err != nil {
			return err
		}
		answers, err := admin.DeleteOffsets(ctx, group, parts)
		if err != nil {
			return refused(fmt.Sprintf("delete offsets of group %q", group), err, groupHint(err))
		}
		for topic, byPartition := range answers {
			for partition, err := range byPartition {
				if err != nil {
					return refused(fmt.Sprintf("delete offset of group %q in %s-%d", group, topic, partition), err, groupHint(err))
				}
			}
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Deleted offsets of group %s.\n", group); err != nil {
			return err
		}
	}
	return nil
}

// partitions are those of a group that the flags name.
func (f *groupsFlags) partitions(ctx context.Context, admin *cluster, group string) (kadm.TopicsSet, error) {
	set := kadm.TopicsSet{}
	if f.allTopics == (len(f.topics) > 0) {
		return nil, errors.New("give --topic, or --all-topics")
	}
	if f.allTopics {
		committed, err := admin.FetchOffsets(ctx, group)
		if err != nil {
			return nil, refused(fmt.Sprintf("fetch offsets of group %q", group), err, groupHint(err))
		}
		committed.Each(func(o kadm.OffsetResponse) { set.Add(o.Topic, o.Partition) })
		return set, nil
	}
	for _, item := range f.topics {
		if err := addPartitions(ctx, admin, set, item); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// addPartitions adds topic, or topic:0,1, to a set.
func addPartitions(ctx context.Context, admin *cluster, set kadm.TopicsSet, item string) error {
	topic, list, some := strings.Cut(item, ":")
	details, err := admin.ListTopicsWithInternal(ctx, topic)
	if err != nil {
		return fmt.Errorf("look for topic %q: %s", topic, plain(err))
	}
	d := details[topic]
	if d.Err != nil || len(d.Partitions) == 0 {
		return fmt.Errorf("topic %q does not exist", topic)
	}
	for _, p := range d.Partitions.Numbers() {
		if !some || slices.Contains(strings.Split(list, ","), fmt.Sprint(p)) {
			set.Add(topic, p)
		}
	}
	for number := range strings.SplitSeq(list, ",") {
		if some && !slices.Contains(numbersAsText(d), number) {
			return fmt.Errorf("topic %q has no partition %q", topic, number)
		}
	}
	return nil
}

func numbersAsText(d kadm.TopicDetail) []string {
	var texts []string
	for _, p := range d.Partitions.Numbers() {
		texts = append(texts, fmt.Sprint(p))
	}
	return texts
}

// byPlace orders what has a topic and a partition.
func byPlace(topicA string, partitionA int32, topicB string, partitionB int32) int {
	return cmp.Or(cmp.Compare(topicA, topicB), cmp.Compare(partitionA, partitionB))
}
