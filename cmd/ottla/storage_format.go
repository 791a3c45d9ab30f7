package main

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/format"
)

// newStorageFormatCmd is "ottla storage format".
func newStorageFormatCmd() *cobra.Command {
	var file string
	var r format.Request
	cmd := &cobra.Command{
		Use:   "format --config FILE --cluster-id ID [--standalone | --initial-controllers LIST | --no-initial-controllers]",
		Short: "Make the directories of a node ready for its first start",
		Long: `Make the directories of a node ready for its first start: a meta.properties in
each, and on a controller the snapshot its metadata log begins with. All nodes
of a cluster are formatted with the same cluster id.

A controller without controller.quorum.voters needs to be told about its quorum:
  --standalone               the only voter at first; others are added later
  --initial-controllers      one of several first voters; the same list on each
  --no-initial-controllers   not a voter yet; it is added to a running quorum

New clusters finalize metadata.version, kraft.version and, where the release has
it, eligible.leader.replicas.version=1; --feature can leave that at 0. The others
of Kafka's are not served by this release and stay at level 0.`,
		Example: `  ottla storage format -t $(ottla storage random-uuid) -c server.properties --standalone`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("initial-controllers") && r.InitialControllers == "" {
				r.InitialControllers = " " // an empty list is a mistake, not the lack of the flag
			}
			c, _, err := config.Load(file, nil, config.Options{Offline: true})
			if err != nil {
				return err
			}
			r.Node = c.Node()
			return formatNode(cmd, vfs.OS{}, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "config", "c", "", "properties file of the node")
	flags.StringVarP(&r.ClusterID, "cluster-id", "t", "", "id of the cluster, the same on all its nodes")
	flags.BoolVarP(&r.Standalone, "standalone", "s", false, "begin a dynamic quorum with this controller alone")
	flags.StringVarP(&r.InitialControllers, "initial-controllers", "I", "", "first voters of a dynamic quorum, as id@host:port:directoryId,...")
	flags.BoolVarP(&r.NoInitial, "no-initial-controllers", "N", false, "join a dynamic quorum later")
	flags.StringVarP(&r.Release, "release-version", "r", "", "release, or metadata.version, to format for")
	flags.StringArrayVarP(&r.Features, "feature", "f", nil, "level of a feature, as name=level (repeatable)")
	flags.BoolVarP(&r.IgnoreFormatted, "ignore-formatted", "g", false, "pass over directories that are formatted already")
	flags.StringArrayVarP(&r.Scram, "add-scram", "S", nil, "SCRAM user, as 'SCRAM-SHA-256=[name=alice,password=secret]' (repeatable)")
	require(cmd, "config", "cluster-id")
	return cmd
}

// formatNode formats all directories of a node or none, and tells what it did.
func formatNode(cmd *cobra.Command, disk vfs.FS, r format.Request) error {
	plan, err := format.Decide(r, format.Survey(disk, format.Dirs(r.Node)), rand.Reader, time.Now())
	if err != nil {
		return err
	}
	if err := format.Write(disk, plan); err != nil {
		return err
	}
	for _, note := range plan.Notes {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), note); err != nil {
			return err
		}
	}
	return nil
}
