package main

import (
	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/vfs"
)

// newFaultCmd is for tests: what happens to a node's folders when the machine
// loses power. It works on folders of a node that was started with --fault-dir.
func newFaultCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "fault", Short: "Break a stopped node's folders as a loss of power would", Hidden: true}
	var journal string
	var folders []string
	var seed uint64
	drop := &cobra.Command{
		Use:   "drop-unsynced",
		Short: "Throw away bytes that were written but never synced",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return vfs.DropUnsynced(journal, seed, folders...)
		},
	}
	drop.Flags().StringVar(&journal, "fault-dir", "", "the folder given to the node as --fault-dir")
	drop.Flags().StringArrayVar(&folders, "data", nil, "a data folder of the node (repeatable)")
	drop.Flags().Uint64Var(&seed, "seed", 0, "0: nothing unsynced stays; else a random part does")
	for _, required := range []string{"fault-dir", "data"} {
		if err := drop.MarkFlagRequired(required); err != nil {
			panic(err) // a flag that was just defined
		}
	}
	cmd.AddCommand(drop)
	return cmd
}
