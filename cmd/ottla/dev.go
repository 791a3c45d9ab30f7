package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
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
	listen    string
	advertise string
	metrics   string
}

// newDevCmd is "ottla dev": a node for one machine, without any preparation.
func newDevCmd() *cobra.Command {
	f := &devFlags{}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a node for development: no file, no format",
		Long: `Run one node that is broker and controller, without security, for development
and tests. Its folder is formatted at the first start and used again at the next.`,
		Example: `  ottla dev
  ottla dev --data /tmp/k --port 19092 --disks 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "ottla-data", "folder for all data")
	flags.IntVar(&f.port, "port", 9092, "port for clients; the controller takes the next one; 0 takes free ones")
	flags.IntVar(&f.disks, "disks", 1, "number of log directories; without it as many as the folder has")
	flags.StringVar(&f.listen, "listen", "127.0.0.1", "address to listen on; 0.0.0.0 is every address")
	flags.StringVar(&f.advertise, "advertise", "", "host that clients are told to connect to, if not the one listened on")
	flags.StringVar(&f.metrics, "metrics", "", "host:port for /metrics and /ready; without it neither is served")
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
	if f.disks < 1 {
		return fmt.Errorf("--disks must be at least 1, not %d", f.disks)
	}
	if err := f.countDisks(cmd.Flags().Changed("disks")); err != nil {
		return err
	}
	text, err := f.properties()
	if err != nil {
		return err
	}
	c, warnings, err := config.Parse("ottla dev", []byte(text), f.overrides, config.Options{IgnoreUnsupported: f.ignore})
	if err != nil {
		return err
	}
	log, err := f.logger(cmd.ErrOrStderr(), c)
	if err != nil {
		return err
	}
	if err := f.portsAreFree(c.Node()); err != nil {
		return err
	}
	disk, err := f.disk(f.data)
	if err != nil {
		return err
	}
	printWarnings(cmd.ErrOrStderr(), warnings)
	if err := formatOnce(disk, c.Node()); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	err = runNode(cmd.Context(), node.Options{Config: c, FS: disk, Log: log, Version: buildVersion(), Ready: func(a node.Addresses) { f.sayReady(out, a) }})
	if err == nil {
		fmt.Fprintln(out, "ottla has stopped; its data stays in", f.data)
	}
	return err
}

// properties are the settings of the node, as a file would have them.
func (f *devFlags) properties() (string, error) {
	controller, err := f.controllerPort()
	if err != nil {
		return "", err
	}
	var dirs []string
	for i := range f.disks {
		dirs = append(dirs, filepath.Join(f.data, diskName(i+1)))
	}
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.voters=1@127.0.0.1:" + strconv.Itoa(controller),
		"controller.listener.names=CONTROLLER",
		fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d", net.JoinHostPort(f.listen, strconv.Itoa(f.port)), controller),
		fmt.Sprintf("advertised.listeners=PLAINTEXT://%s", net.JoinHostPort(f.advertised(), strconv.Itoa(f.port))),
		"log.dirs=" + escapeProperty(strings.Join(dirs, ",")),
		"offsets.topic.replication.factor=1",
		// A group of one member should not wait for others while one develops.
		"group.initial.rebalance.delay.ms=0",
	}
	if f.metrics != "" {
		lines = append(lines, "ottla.metrics.listener="+f.metrics)
	}
	return strings.Join(lines, "\n") + "\n", nil
}

func escapeProperty(value string) string { return strings.ReplaceAll(value, `\`, `\\`) }

// controllerPort is the one beside the clients' port, or a free one.
func (f *devFlags) controllerPort() (int, error) {
	switch {
	case f.port < 0 || f.port > 65534:
		return 0, fmt.Errorf("--port must be from 0 to 65534, not %d", f.port)
	case f.port > 0:
		return f.port + 1, nil
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	return port, free.Close()
}

// advertised is the host clients are told: an address that means "all" is of
// no use to them.
func (f *devFlags) advertised() string {
	switch {
	case f.advertise != "":
		return f.advertise
	case config.Wildcard(f.listen):
		return "localhost"
	}
	return f.listen
}

// formatOnce formats the directories that are new. The cluster id is that of
// the others, if there are any.
func formatOnce(disk vfs.FS, n *config.Node) error {
	found := format.Survey(disk, format.Dirs(n))
	r := format.Request{Node: n, IgnoreFormatted: true}
	missing := 0
	for _, f := range found {
		if f.Meta == nil {
			missing++
		} else if r.ClusterID == "" {
			r.ClusterID = f.Meta.ClusterID
		}
	}
	if missing == 0 {
		return nil
	}
	if r.ClusterID == "" {
		id, err := format.NewDirID(rand.Reader, nil)
		if err != nil {
			return err
		}
		r.ClusterID = id.String()
	}
	plan, err := format.Decide(r, found, rand.Reader, time.Now())
	if err != nil {
		return err
	}
	return format.Write(disk, plan)
}

// sayReady prints the one block a person needs.
func (f *devFlags) sayReady(w io.Writer, a node.Addresses) {
	_, port, _ := net.SplitHostPort(a.Listeners["PLAINTEXT"])
	data, err := filepath.Abs(f.data)
	if err != nil {
		data = f.data
	}
	bootstrap := net.JoinHostPort(f.advertised(), port)
	fmt.Fprintf(w, `
ottla is ready.

  bootstrap servers   %s
  data                %s

  try                 echo hello | ottla produce --bootstrap-server %s --topic hello
                      ottla consume --bootstrap-server %s --topic hello --from-beginning

Ctrl-C stops it.
`, bootstrap, data, bootstrap, bootstrap)
	if a.Metrics != "" {
		fmt.Fprintf(w, "Metrics are at http://%s/metrics.\n", a.Metrics)
	}
}
