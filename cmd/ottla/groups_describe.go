package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// describedGroup is a group as "ottla groups --describe --json" prints it.
type describedGroup struct {
	Group       string            `json:"group"`
	State       string            `json:"state"`
	Coordinator string            `json:"coordinator"`
	Assignor    string            `json:"assignor"`
	Offsets     []describedOffset `json:"offsets"`
	Members     []describedMember `json:"members"`
}

type describedOffset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed *int64 `json:"committed"` // null when nothing was committed
	End       int64  `json:"logEndOffset"`
	Lag       *int64 `json:"lag"`
	Member    string `json:"memberId"`
	Host      string `json:"host"`
	Client    string `json:"clientId"`
}

type describedMember struct {
	ID         string             `json:"memberId"`
	Instance   *string            `json:"groupInstanceId"`
	Host       string             `json:"host"`
	Client     string             `json:"clientId"`
	Partitions map[string][]int32 `json:"partitions"`
}

func (f *groupsFlags) describe(ctx context.Context, cmd *cobra.Command, admin *cluster, names []string) error {
	if views := btoi(f.members) + btoi(f.state) + btoi(f.offsets); views > 1 {
		return errors.New("--members, --state and --offsets exclude each other")
	}
	var groups []describedGroup
	if len(names) > 0 {
		lags, err := admin.Lag(ctx, names...)
		if err != nil {
			return fmt.Errorf("describe groups: %s", plain(err))
		}
		for _, l := range lags.Sorted() {
			if err := l.Error(); err != nil {
				return refused(fmt.Sprintf("describe group %q", l.Group), err, groupHint(err))
			}
			if l.State == "Dead" {
				return refused(fmt.Sprintf("describe group %q", l.Group), kerr.GroupIDNotFound, groupHint(kerr.GroupIDNotFound))
			}
			groups = append(groups, newDescribedGroup(l))
		}
	}
	out := cmd.OutOrStdout()
	if f.asJSON {
		return printJSON(out, groups)
	}
	t := &table{}
	switch {
	case f.state:
		t.row("GROUP", "COORDINATOR", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
		for _, g := range groups {
			t.row(g.Group, g.Coordinator, orDash(g.Assignor), g.State, len(g.Members))
		}
	case f.members:
		t.row("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT")
		for _, g := range groups {
			for _, m := range g.Members {
				t.row(g.Group, m.ID, m.Host, m.Client, m.count(), m.assignment())
			}
		}
	default:
		t.row("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
		for _, g := range groups {
			for _, o := range g.Offsets {
				t.row(g.Group, o.Topic, o.Partition, orNumber(o.Committed), o.End, orNumber(o.Lag), orDash(o.Member), orDash(o.Host), orDash(o.Client))
			}
		}
	}
	return t.print(out)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func orNumber(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func newDescribedGroup(l kadm.DescribedGroupLag) describedGroup {
	g := describedGroup{
		Group: l.Group, State: l.State, Assignor: l.Protocol,
		Coordinator: fmt.Sprintf("%s:%d (%d)", l.Coordinator.Host, l.Coordinator.Port, l.Coordinator.NodeID),
		Offsets:     []describedOffset{}, Members: []describedMember{},
	}
	for _, m := range l.Members {
		member := describedMember{ID: m.MemberID, Instance: m.InstanceID, Host: m.ClientHost, Client: m.ClientID, Partitions: map[string][]int32{}}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				slices.Sort(t.Partitions)
				member.Partitions[t.Topic] = t.Partitions
			}
		}
		g.Members = append(g.Members, member)
	}
	for _, byPartition := range l.Lag {
		for _, p := range byPartition {
			if p.Commit.At < 0 && p.Member == nil {
				continue // a partition that the group has nothing to do with
			}
			o := describedOffset{Topic: p.Topic, Partition: p.Partition, End: p.End.Offset}
			if p.Commit.At >= 0 {
				o.Committed = &p.Commit.At
			}
			if p.Lag >= 0 && p.Err == nil {
				o.Lag = &p.Lag
			}
			if p.Member != nil {
				o.Member, o.Host, o.Client = p.Member.MemberID, p.Member.ClientHost, p.Member.ClientID
			}
			g.Offsets = append(g.Offsets, o)
		}
	}
	slices.SortFunc(g.Offsets, func(a, b describedOffset) int { return byPlace(a.Topic, a.Partition, b.Topic, b.Partition) })
	return g
}

func (m describedMember) count() int {
	n := 0
	for _, partitions := range m.Partitions {
		n += len(partitions)
	}
	return n
}

// assignment is topic(0,1), topic(2).
func (m describedMember) assignment() string {
	var parts []string
	for topic, partitions := range m.Partitions {
		parts = append(parts, fmt.Sprintf("%s(%s)", topic, joined(partitions)))
	}
	slices.Sort(parts)
	return orDash(strings.Join(parts, ", "))
}
