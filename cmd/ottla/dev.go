package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/format"
	"github.com/ottla/ottla/internal/node"
)

// devFlags are what "ottla dev" can be asked for.
type devFlags struct {
	runFlags
	data      string
	port      int
	disks     int
	nodes     int
	listen    string
	advertise string
	metrics   string

	// held are the controllers' sockets, in the order of the nodes, where dev has
	// chosen their ports.
	held []net.Listener
}

// sockets are those that are open for the i-th node, by listener.
func (f *devFlags) sockets(i int) map[string]net.Listener {
	if f.held == nil {
		return nil
	}
	return map[string]net.Listener{"CONTROLLER": f.held[i]}
}

func (f *devFlags) closeHeld() {
	for _, s := range f.held {
		_ = s.Close() // a node that ran has closed it
	}
	f.held = nil
}

// newDevCmd is "ottla dev": a node for one machine, without any preparation.
func newDevCmd() *cobra.Command {
	f := &devFlags{}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a node for development: no file, no format",
		Long: `Run one node that is broker and controller, without security, for development
and tests. Its folder is formatted at the first start and used again at the next.

With --nodes it is a cluster: that many such nodes in one process, each with a
folder and two ports of its own, and three replicas of what is created.`,
		Example: `  ottla dev
  ottla dev --data /tmp/k --port 19092 --disks 3
  ottla dev --nodes 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "ottla-data", "folder for all data")
	flags.IntVar(&f.port, "port", 9092, "port for clients; the controller takes the next one, and each further node the next two; 0 takes free ones")
	flags.IntVar(&f.disks, "disks", 1, "number of log directories, of each node; without it as many as the folder has")
	flags.IntVar(&f.nodes, "nodes", 1, "number of nodes in the cluster")
	flags.StringVar(&f.listen, "listen", "127.0.0.1", "address to listen on; 0.0.0.0 is every address")
	flags.StringVar(&f.advertise, "advertise", "", "host that clients are told to connect to, if not the one listened on")
	flags.StringVar(&f.metrics, "metrics", "", "host:port for /metrics and /ready, for further nodes the ports after it; without it neither is served")
	f.define(cmd)
	return cmd
}

func (f *devFlags) run(cmd *cobra.Command) error {
	if f.logLevel == "" {
		f.logLevel = "warn"
	}
	if err := f.refuseOverrides(); err != nil {
		return err
	}
	switch {
	case f.disks < 1:
		return fmt.Errorf("--disks must be at least 1, not %d", f.disks)
	case f.nodes < 1:
		return fmt.Errorf("--nodes must be at least 1, not %d", f.nodes)
	}
	if err := f.sameNumber(); err != nil {
		return err
	}
	if err := f.countDisks(cmd.Flags().Changed("disks")); err != nil {
		return err
	}
	defer f.closeHeld()
	settings, warnings, err := f.settings()
	if err != nil {
		return err
	}
	log, err := f.logger(cmd.ErrOrStderr(), settings[0])
	if err != nil {
		return err
	}
	for i, c := range settings {
		if err := portsAreFree(c, f.sockets(i)); err != nil {
			return err
		}
	}
	disk, err := f.disk(f.data)
	if err != nil {
		return err
	}
	printWarnings(cmd.ErrOrStderr(), warnings)
	if err := formatOnce(disk, settings); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	defer tendHeap()()
	err = runNodes(cmd.Context(), f.options(settings, disk, log), func(at []node.Addresses) { f.sayReady(out, at) })
	if err == nil {
		fmt.Fprintln(out, "ottla has stopped; its data stays in", f.data)
	}
	return err
}

// settings are those of all nodes, and what there is to warn of, which is the
// same for each.
func (f *devFlags) settings() (all []*config.Config, warnings []config.Warning, err error) {
	texts, err := f.properties()
	if err != nil {
		return nil, nil, err
	}
	for _, text := range texts {
		var c *config.Config
		c, warnings, err = config.Parse("ottla dev", []byte(text), f.overrides, config.Options{IgnoreUnsupported: f.ignore})
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c)
	}
	return all, warnings, nil
}

func (f *devFlags) options(settings []*config.Config, disk vfs.FS, log *slog.Logger) []node.Options {
	var all []node.Options
	company := node.NewCompany(len(settings))
	for i, c := range settings {
		opt := node.Options{Config: c, FS: disk, Log: log, Version: buildVersion(), Sockets: f.sockets(i)}
		if len(settings) > 1 {
			opt.Company = company
			opt.Log = log.With("node", int32(c.Node().ID))
		}
		all = append(all, opt)
	}
	return all
}

// runNodes runs nodes until the context ends, or one of them does. ready is
// called once all of them are.
func runNodes(ctx context.Context, all []node.Options, ready func([]node.Addresses)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	at, errs := make([]node.Addresses, len(all)), make([]error, len(all))
	var waiting atomic.Int64
	waiting.Store(int64(len(all)))
	var work sync.WaitGroup
	for i, opt := range all {
		opt.Ready = func(a node.Addresses) {
			at[i] = a
			if waiting.Add(-1) == 0 {
				ready(at)
			}
		}
		work.Go(func() {
			errs[i] = runNode(ctx, opt)
			stop()
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// formatOnce formats the directories that are new. The cluster id is that of
// the others, if there are any.
func formatOnce(disk vfs.FS, settings []*config.Config) error {
	clusterID := ""
	for _, c := range settings {
		for _, f := range format.Survey(disk, format.Dirs(c.Node())) {
			if f.Meta != nil && clusterID == "" {
				clusterID = f.Meta.ClusterID
			}
		}
	}
	if clusterID == "" {
		id, err := format.NewDirID(rand.Reader, nil)
		if err != nil {
			return err
		}
		clusterID = id.String()
	}
	for _, c := range settings {
		if err := formatDev(disk, c.Node(), clusterID); err != nil {
			return err
		}
	}
	return nil
}

func formatDev(disk vfs.FS, n *config.Node, clusterID string) error {
	found := format.Survey(disk, format.Dirs(n))
	if !slices.ContainsFunc(found, func(f format.Found) bool { return f.Meta == nil }) {
		return nil
	}
	plan, err := format.Decide(format.Request{Node: n, IgnoreFormatted: true, ClusterID: clusterID}, found, rand.Reader, time.Now())
	if err != nil {
		return err
	}
	return format.Write(disk, plan)
}

// sayReady prints the one block a person needs.
func (f *devFlags) sayReady(w io.Writer, at []node.Addresses) {
	data, err := filepath.Abs(f.data)
	if err != nil {
		data = f.data
	}
	var servers []string
	for _, a := range at {
		_, port, _ := net.SplitHostPort(a.Listeners["PLAINTEXT"])
		servers = append(servers, net.JoinHostPort(f.advertised(), port))
	}
	fmt.Fprintf(w, `
ottla is ready.

  bootstrap servers   %s
  data                %s

  try                 echo hello | ottla produce --bootstrap-server %s --topic hello
                      ottla consume --bootstrap-server %s --topic hello --from-beginning

Ctrl-C stops it.
`, strings.Join(servers, ","), data, servers[0], servers[0])
	for _, a := range at {
		if a.Metrics != "" {
			fmt.Fprintf(w, "Metrics are at http://%s/metrics.\n", a.Metrics)
		}
	}
}
