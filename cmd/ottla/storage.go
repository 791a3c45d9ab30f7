package main

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/format"
)

// newStorageCmd is "ottla storage": Kafka's kafka-storage.
func newStorageCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "Format the directories of a node, and look at them",
		Args:  cobra.ArbitraryArgs,
		RunE:  helpOrUnknown,
	}
	cmd.AddCommand(
		newStorageFormatCmd(),
		newStorageInfoCmd(),
		newRandomUUIDCmd(),
		newVersionMappingCmd(),
		newFeatureDependenciesCmd(),
	)
	return cmd
}

// newStorageInfoCmd is "ottla storage info".
func newStorageInfoCmd() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "info --config FILE",
		Short: "Print what a node's directories say, and what is wrong with them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := config.Load(file, nil, config.Options{Offline: true})
			if err != nil {
				return err
			}
			info := format.Describe(vfs.OS{}, c.Node())
			if err := info.Print(cmd.OutOrStdout()); err != nil {
				return err
			}
			if len(info.Problems) > 0 {
				return exitStatus(1)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "properties file of the node")
	require(cmd, "config")
	return cmd
}

// newRandomUUIDCmd is "ottla storage random-uuid".
func newRandomUUIDCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "random-uuid",
		Short: "Print a random id, for --cluster-id or a directory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := format.NewDirID(rand.Reader, nil)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), kafka.UUID(id))
			return err
		},
	}
}

// newVersionMappingCmd is "ottla storage version-mapping".
func newVersionMappingCmd() *cobra.Command {
	release := image.LatestLevel.String()
	cmd := &cobra.Command{
		Use:   "version-mapping",
		Short: "Print the level Kafka gives each feature at a release",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level, err := format.ParseRelease(release)
			if err != nil {
				return err
			}
			for _, line := range format.VersionMapping(level) {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&release, "release-version", "r", release, "release, or metadata.version")
	return cmd
}

// newFeatureDependenciesCmd is "ottla storage feature-dependencies".
func newFeatureDependenciesCmd() *cobra.Command {
	var features []string
	cmd := &cobra.Command{
		Use:   "feature-dependencies --feature NAME=LEVEL",
		Short: "Print what a level of a feature needs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range features {
				text, err := format.Dependencies(f)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), text); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&features, "feature", "f", nil, "feature and level, as name=level (repeatable)")
	require(cmd, "feature")
	return cmd
}

// require marks flags without which a command is refused.
func require(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic(err) // the flag was not defined
		}
	}
}
