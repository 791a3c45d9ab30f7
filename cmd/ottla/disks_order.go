package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

// orderFlags are the flags of commands that have the running node do something with
// one of its disks.
type orderFlags struct {
	file     string
	patience time.Duration
	order    dirs.Order
}

func (f *orderFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "config", "c", "", "properties file of the node, which runs on this machine")
	f.patience = 10 * time.Second
	cmd.Flags().Var((*patientFor)(&f.patience), "timeout", "time after which a node that does not take the order is given up")
	require(cmd, "config")
}

// newDisksReplaceCmd is "ottla disks replace".
func newDisksReplaceCmd() *cobra.Command {
	f := &orderFlags{order: dirs.Order{Verb: dirs.Replace}}
	cmd := &cobra.Command{
		Use:   "replace DIR --config FILE",
		Short: "Have the running node take a new, empty disk in the place of one that is offline",
		Long: `Have the running node take a new, empty disk in the place of one that is offline.

The new disk is to be mounted at DIR, which is an entry of log.dirs. The node has the
controller record that the replicas of the old disk are lost, formats the new one, and
fills it from their leaders. What only the old disk had stays in metadata and is not
touched, unless --accept-data-loss gives it up.`,
		Example: `  ottla disks replace /data/3 --config server.properties`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.define(cmd)
	cmd.Flags().BoolVar(&f.order.SameDevice, "same-device", false, "DIR may lie on the device of its parent")
	cmd.Flags().BoolVar(&f.order.AcceptLoss, "accept-data-loss", false, "give up what no other broker has")
	return cmd
}

// newDisksReadmitCmd is "ottla disks readmit".
func newDisksReadmitCmd() *cobra.Command {
	f := &orderFlags{order: dirs.Order{Verb: dirs.Readmit}}
	cmd := &cobra.Command{
		Use:   "readmit DIR --config FILE",
		Short: "Have the running node take a directory back whose sync has failed, or whose logs lack records",
		Long: `Have the running node take a directory back whose sync has failed, or whose logs lack
records. Other directories come back by themselves. All records are validated first.`,
		Example: `  ottla disks readmit /data/3 --config server.properties`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.define(cmd)
	return cmd
}

func (f *orderFlags) run(cmd *cobra.Command, dir string) error {
	c, _, err := config.Load(f.file, nil, config.Options{Offline: true})
	if err != nil {
		return err
	}
	node := c.Node()
	f.order.Dir = filepath.Clean(dir)
	if !slices.ContainsFunc(node.LogDirs, func(d string) bool { return filepath.Clean(d) == f.order.Dir }) {
		return fmt.Errorf("%s is no entry of log.dirs in %s", dir, f.file)
	}
	id, err := dirs.Give(vfs.OS{}, node.MetadataDir, f.order)
	if err != nil {
		return err
	}
	return f.follow(cmd, node.MetadataDir, id)
}

// follow prints what the node says of the order until it is done with it.
func (f *orderFlags) follow(cmd *cobra.Command, metadataDir, id string) error {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	late := time.After(f.patience)
	printed := 0
	for {
		answer, there, err := dirs.Heard(vfs.OS{}, metadataDir, id)
		if err != nil {
			return err
		}
		for _, step := range answer.Steps[min(printed, len(answer.Steps)):] {
			if there {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", f.order.Dir, step)
				printed++
			}
		}
		switch {
		case there && answer.Done && answer.Error != "":
			return errors.New(answer.Error)
		case there && answer.Done:
			return nil
		}
		select {
		case <-cmd.Context().Done():
			return fmt.Errorf("the node goes on by itself; its log says how it ends")
		case <-look.C:
		case <-late:
			taken, err := dirs.Taken(vfs.OS{}, metadataDir)
			if err != nil {
				return err
			}
			if !taken {
				return errors.Join(fmt.Errorf("no node takes the order within %v: does the one of %s run on this machine, with the broker role?", f.patience, f.file),
					dirs.Withdraw(vfs.OS{}, metadataDir))
			}
			late = nil // it is at it
		}
	}
}
