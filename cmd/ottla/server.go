package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/format"
	"github.com/ottla/ottla/internal/node"
)

// runFlags are the flags of every command that runs a node.
type runFlags struct {
	overrides []string
	ignore    []string
	logLevel  string
	logJSON   bool
	faultDir  string // for crash tests: where a lossy disk keeps what was synced
}

func (f *runFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.overrides, "override", nil, "set a key, as key=value (repeatable)")
	flags.StringArrayVar(&f.ignore, "ignore-unsupported", nil, "start although this key has no effect yet (repeatable)")
	flags.StringVar(&f.logLevel, "log-level", "", "least level of what is logged: debug, info, warn or error")
	flags.BoolVar(&f.logJSON, "log-json", false, "log in JSON")
	flags.StringVar(&f.faultDir, "fault-dir", "", "")
	if err := flags.MarkHidden("fault-dir"); err != nil {
		panic(err) // the flag was not defined
	}
}

// logger makes the node's logger; the level comes from the flag, else from the
// settings.
func (f *runFlags) logger(w io.Writer, c *config.Config) (*slog.Logger, error) {
	text := f.logLevel
	if text == "" {
		text = c.String("ottla.log.level")
	}
	level, err := metrics.ParseLevel(text)
	if err != nil {
		return nil, err
	}
	return metrics.NewLogger(w, level, f.logJSON), nil
}

// disk is the operating system's, or one that can be made to forget what was
// not synced.
func (f *runFlags) disk(folders ...string) (vfs.FS, error) {
	if f.faultDir == "" {
		return vfs.OS{}, nil
	}
	return vfs.NewLossy(f.faultDir, folders...)
}

// newServerCmd is "ottla server": Kafka's kafka-server-start.
func newServerCmd() *cobra.Command {
	f, trace := &runFlags{}, ""
	cmd := &cobra.Command{
		Use:   "server FILE",
		Short: "Run a node with a properties file",
		Long: `Run a node with a properties file of Apache Kafka 4.4: a broker, a controller or
both, as process.roles says. Its directories are made ready with "ottla storage
format". It stops in good order on SIGINT and SIGTERM.`,
		Example: `  ottla server server.properties --override log.retention.hours=24`,
		Args:    oneFile,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.server(cmd, args[0], trace) },
	}
	f.define(cmd)
	cmd.Flags().StringVar(&trace, traceFlag, "", "")
	if err := cmd.Flags().MarkHidden(traceFlag); err != nil {
		panic(err) // the flag was not defined
	}
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give one properties file: %s", cmd.UseLine())
	}
	return nil
}

func (f *runFlags) server(cmd *cobra.Command, file, trace string) error {
	c, warnings, err := config.Load(file, f.overrides, config.Options{IgnoreUnsupported: f.ignore})
	if err != nil {
		return err
	}
	log, err := f.logger(cmd.ErrOrStderr(), c)
	if err != nil {
		return err
	}
	disk, err := f.disk(format.Dirs(c.Node())...)
	if err != nil {
		return err
	}
	printWarnings(cmd.ErrOrStderr(), warnings)
	defer tendHeap()()
	opt := node.Options{Config: c, FS: disk, Log: log, Version: buildVersion(), Ready: func(a node.Addresses) {
		// Kits that start brokers wait for these two lines of Kafka's log.
		log.Info("Transitioning from RECOVERY to RUNNING", "node.id", c.Node().ID)
		log.Info("Kafka Server started", "version", buildVersion(), "listeners", a.Listeners, "metrics", a.Metrics)
	}}
	return traced(trace, opt, func(opt node.Options) error { return runNode(cmd.Context(), opt) })
}

func printWarnings(w io.Writer, warnings []config.Warning) {
	for _, warning := range warnings {
		fmt.Fprintf(w, "ottla: warning: %s\n", warning.Text)
	}
}

// runNode runs a node until the context ends; a node that was told to stop has
// no error.
func runNode(ctx context.Context, opt node.Options) error {
	err := node.Run(ctx, opt)
	if err == nil {
		opt.Log.Info("stopped")
	}
	return err
}
