package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// resetFlags say where --reset-offsets moves offsets to; exactly one of the
// targets is given.
type resetFlags struct {
	earliest, latest, current bool
	offset, shift             int64
	duration                  string
	datetime                  string
	execute, dryRun           bool
}

const noNumber = -1 << 63

func (r *resetFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&r.earliest, "to-earliest", false, "reset: to the first record")
	flags.BoolVar(&r.latest, "to-latest", false, "reset: behind the last record")
	flags.BoolVar(&r.current, "to-current", false, "reset: to where they are")
	flags.Int64Var(&r.offset, "to-offset", noNumber, "reset: to an offset")
	flags.Int64Var(&r.shift, "shift-by", noNumber, "reset: by so many records on, or back if negative")
	flags.StringVar(&r.duration, "by-duration", "", "reset: to the first record of so long ago, as PT1H30M or 90m")
	flags.StringVar(&r.datetime, "to-datetime", "", "reset: to the first record from then on, as 2026-01-31T12:00:00.000")
	flags.BoolVar(&r.execute, "execute", false, "reset: do it")
	flags.BoolVar(&r.dryRun, "dry-run", false, "reset: only show the result, as without --execute")
	for _, name := range []string{"to-offset", "shift-by"} {
		flags.Lookup(name).DefValue = "0" // so that help shows no default
	}
}

func (r *resetFlags) check() error {
	given := btoi(r.earliest) + btoi(r.latest) + btoi(r.current) + btoi(r.offset != noNumber) + btoi(r.shift != noNumber) + btoi(r.duration != "") + btoi(r.datetime != "")
	switch {
	case given != 1:
		return errors.New("--reset-offsets needs exactly one of: --to-earliest, --to-latest, --to-current, --to-offset, --shift-by, --by-duration, --to-datetime")
	case r.execute && r.dryRun:
		return errors.New("--execute and --dry-run exclude each other")
	}
	return nil
}

// movedOffset is one line of what --reset-offsets does.
type movedOffset struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"newOffset"`
}

func (f *groupsFlags) resetOffsets(ctx context.Context, cmd *cobra.Command, admin *cluster, groups []string) error {
	if err := f.reset.check(); err != nil {
		return err
	}
	moved := []movedOffset{}
	for _, group := range groups {
		target, err := f.target(ctx, admin, group)
		if err != nil {
			return err
		}
		if f.reset.execute {
			answers, err := admin.CommitOffsets(ctx, group, target)
			if err == nil {
				err = answers.Error()
			}
			if err != nil {
				return refused(fmt.Sprintf("reset offsets of group %q", group), err, groupHint(err))
			}
		}
		for _, o := range target.Sorted() {
			moved = append(moved, movedOffset{group, o.Topic, o.Partition, o.At})
		}
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), moved)
	}
	t := &table{}
	t.row("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
	for _, m := range moved {
		t.row(m.Group, m.Topic, m.Partition, m.Offset)
	}
	if err := t.print(cmd.OutOrStdout()); err != nil || f.reset.execute {
		return err
	}
	_, err := fmt.Fprintln(cmd.ErrOrStderr(), "Nothing was changed; add --execute to do it.")
	return err
}

// target works out the new offsets of a group, within what the logs hold.
func (f *groupsFlags) target(ctx context.Context, admin *cluster, group string) (kadm.Offsets, error) {
	parts, err := f.partitions(ctx, admin, group)
	if err != nil {
		return nil, err
	}
	topics := parts.Topics()
	start, err := admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list offsets: %s", plain(err))
	}
	end, err := admin.ListEndOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list offsets: %s", plain(err))
	}
	wanted, err := f.reset.finder(ctx, admin, group, topics, start, end)
	if err != nil {
		return nil, err
	}
	target := kadm.Offsets{}
	for _, t := range parts.Sorted() {
		for _, partition := range t.Partitions {
			at, err := within(t.Topic, partition, start, end)(wanted(t.Topic, partition))
			if err != nil {
				return nil, fmt.Errorf("group %q: %w", group, err)
			}
			target.AddOffset(t.Topic, partition, at, -1)
		}
	}
	return target, nil
}

// within holds a wanted offset between the ends of a partition's log.
func within(topic string, partition int32, start, end kadm.ListedOffsets) func(at int64, known bool) (int64, error) {
	return func(at int64, known bool) (int64, error) {
		first, _ := start.Lookup(topic, partition)
		last, _ := end.Lookup(topic, partition)
		switch err := errors.Join(first.Err, last.Err); {
		case err != nil:
			return 0, fmt.Errorf("list offsets of %s-%d: %s", topic, partition, plain(err))
		case !known:
			return 0, fmt.Errorf("there is no offset of %s-%d to begin from", topic, partition)
		}
		return min(max(at, first.Offset), last.Offset), nil
	}
}

// finder gives the wanted offset of a partition; false when it has none.
func (r *resetFlags) finder(ctx context.Context, admin *cluster, group string, topics []string, start, end kadm.ListedOffsets) (func(string, int32) (int64, bool), error) {
	listed := func(offsets kadm.ListedOffsets) func(string, int32) (int64, bool) {
		return func(topic string, partition int32) (int64, bool) {
			o, ok := offsets.Lookup(topic, partition)
			return o.Offset, ok
		}
	}
	switch {
	case r.earliest:
		return listed(start), nil
	case r.latest:
		return listed(end), nil
	case r.offset != noNumber:
		return func(string, int32) (int64, bool) { return r.offset, true }, nil
	case r.duration != "" || r.datetime != "":
		then, err := r.moment(time.Now())
		if err != nil {
			return nil, err
		}
		offsets, err := admin.ListOffsetsAfterMilli(ctx, then.UnixMilli(), topics...)
		if err != nil {
			return nil, fmt.Errorf("list offsets: %s", plain(err))
		}
		return listed(offsets), nil
	}
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return nil, refused(fmt.Sprintf("fetch offsets of group %q", group), err, groupHint(err))
	}
	shift := int64(0)
	if r.shift != noNumber {
		shift = r.shift
	}
	return func(topic string, partition int32) (int64, bool) {
		o, ok := committed.Lookup(topic, partition)
		return o.At + shift, ok && o.At >= 0
	}, nil
}

// moment is the time that --by-duration or --to-datetime means.
func (r *resetFlags) moment(now time.Time) (time.Time, error) {
	if r.duration != "" {
		d, err := parseDuration(r.duration)
		if err != nil {
			return time.Time{}, fmt.Errorf("--by-duration %w", err)
		}
		return now.Add(-d), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.000", "2006-01-02T15:04:05", time.RFC3339} {
		if then, err := time.ParseInLocation(layout, r.datetime, time.UTC); err == nil {
			return then, nil
		}
	}
	return time.Time{}, fmt.Errorf("--to-datetime %q is not of the form 2026-01-31T12:00:00.000 (UTC, or with an offset like +01:00)", r.datetime)
}
