// Command ottla is an Apache Kafka node and the tools around it, one file a
// sub-command. It parses what people type and prints what they read; all work
// is done by the packages below internal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for its process: it returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRootCmd()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(errOut, "ottla: %s\n", strings.TrimSpace(line))
	}
	return 1
}

// exitStatus is the error of a command that has said all there is to say.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// newRootCmd is the command that all others hang on; the list is the whole
// program at a glance.
func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "ottla",
		Short:         "An Apache Kafka node in one binary, and its tools",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE:          helpOrUnknown,
	}
	root.AddCommand(
		newDevCmd(),
		newServerCmd(),
		newStorageCmd(),
		newVersionCmd(),
		newTopicsCmd(),
		newConfigsCmd(),
		newGroupsCmd(),
		newMetadataQuorumCmd(),
		newLogDirsCmd(),
		newDisksCmd(),
		newProduceCmd(),
		newConsumeCmd(),
		newDumpLogCmd(),
		newFaultCmd(),
		newSimCmd(),
		newQuorumTraceCmd(),
	)
	return root
}

// helpOrUnknown is what a command does that only has sub-commands: it shows its
// help, or names the sub-command that was probably meant.
func helpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", near[0])
	}
	return fmt.Errorf("%q is not a command of %q%s (%s --help lists all)", args[0], cmd.CommandPath(), hint, cmd.CommandPath())
}
