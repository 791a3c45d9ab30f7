package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/drive/quorumtrace"
	"github.com/ottla/ottla/internal/node"
)

// traceFlag is for those who work on the quorum: a file to which a node appends
// every step of its quorum's core.
const traceFlag = "trace-quorum"

// traced runs a node that writes its steps to a file; without a name it just runs.
func traced(file string, opt node.Options, run func(node.Options) error) error {
	if file == "" {
		return run(opt)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("--%s: %w", traceFlag, err)
	}
	opt.QuorumTrace = f
	return errors.Join(run(opt), f.Close())
}

// newQuorumTraceCmd checks what nodes have written.
func newQuorumTraceCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "quorum-trace FILE...",
		Short: "Hold the steps of running nodes against the quorum's protocol",
		Long: `Read the files that nodes have written which were started with --trace-quorum FILE,
and say which step the protocol does not allow, and what it would allow.`,
		Args:   cobra.MinimumNArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, file := range args {
				if err := checkTrace(cmd.OutOrStdout(), file); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func checkTrace(out io.Writer, file string) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum, err := quorumtrace.Check(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	_, err = fmt.Fprintf(out, "%s: %d steps are of the protocol, in %d lives that led %d times; %d torn lines\n",
		file, sum.Steps, sum.Lives, sum.Leading, sum.Torn)
	return err
}
