package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
)

// voterFlags are the flags of the commands that change the voters (KIP-853).
type voterFlags struct {
	clientFlags
	controllers string
	dryRun      bool
}

func (f *voterFlags) define(cmd *cobra.Command) {
	f.clientFlags.define(cmd)
	cmd.Flags().StringVar(&f.controllers, "bootstrap-controller", "", "host:port of controllers to ask, instead of brokers")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only print what would be done")
}

func newAddControllerCmd() *cobra.Command {
	f := &voterFlags{}
	var file string
	cmd := &cobra.Command{
		Use:   "add-controller --config FILE",
		Short: "Make a running controller a voter",
		Long: `Make a controller, which runs and has caught up, a voter of its quorum. Who it
is comes from its properties file and from the meta.properties of its metadata
directory, so this runs on the controller's machine.`,
		Example: `  ottla metadata-quorum add-controller -c controller4.properties --bootstrap-controller localhost:9093`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := additionOf(file)
			if err != nil {
				return err
			}
			var at []string
			for _, l := range req.Listeners {
				at = append(at, l.Name+"://"+net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))))
			}
			return f.change(cmd, req, fmt.Sprintf("controller %d with directory id %v and endpoints: %s",
				req.VoterID, kafka.UUID(req.VoterDirectoryID), strings.Join(at, ", ")), "Added")
		},
	}
	f.define(cmd)
	cmd.Flags().StringVarP(&file, "config", "c", "", "properties file of the controller")
	require(cmd, "config")
	return cmd
}

// additionOf is the request that makes the controller of a properties file a
// voter.
func additionOf(file string) (*kmsg.AddRaftVoterRequest, error) {
	c, _, err := config.Load(file, nil, config.Options{Offline: true})
	if err != nil {
		return nil, err
	}
	self := c.Node()
	if !self.Controller {
		return nil, fmt.Errorf("%s: process.roles has no controller in it", file)
	}
	raw, err := os.ReadFile(filepath.Join(self.MetadataDir, metaprops.FileName))
	if err != nil {
		return nil, fmt.Errorf("the directory id of the controller: %w", err)
	}
	props, err := metaprops.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(self.MetadataDir, metaprops.FileName), err)
	}
	req := kmsg.NewPtrAddRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID = int32(self.ID), props.DirID
	for _, l := range self.AdvertisedControllers {
		at := kmsg.NewAddRaftVoterRequestListener()
		at.Name, at.Host, at.Port = l.Name, l.Host, uint16(l.Port)
		if at.Host == "" {
			if at.Host, err = os.Hostname(); err != nil {
				return nil, fmt.Errorf("the host of listener %s: %w", l.Name, err)
			}
		}
		req.Listeners = append(req.Listeners, at)
	}
	return req, nil
}

func newRemoveControllerCmd() *cobra.Command {
	f := &voterFlags{}
	var id int32
	var dir string
	cmd := &cobra.Command{
		Use:   "remove-controller --controller-id ID --controller-directory-id ID",
		Short: "Make a voter an observer",
		Long: `Make a voter of the quorum an observer. Stop the controller first if it runs
with controller.quorum.auto.join.enable: it would add itself again.`,
		Example: `  ottla metadata-quorum remove-controller --controller-id 4 --controller-directory-id 8kq0vWcQTvaZsBGJbXuGpw`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := kafka.ParseUUID(dir)
			if err != nil {
				return fmt.Errorf("--controller-directory-id %q: %w", dir, err)
			}
			req := kmsg.NewPtrRemoveRaftVoterRequest()
			req.VoterID, req.VoterDirectoryID = id, key
			return f.change(cmd, req, fmt.Sprintf("KRaft controller %d with directory id %v", id, key), "Removed")
		},
	}
	f.define(cmd)
	cmd.Flags().Int32VarP(&id, "controller-id", "i", -1, "node id of the voter")
	cmd.Flags().StringVarP(&dir, "controller-directory-id", "d", "", "directory id of the voter, as describe --replication prints it")
	require(cmd, "controller-id", "controller-directory-id")
	return cmd
}

// change has the leader of the quorum do what is asked for, and says so.
func (f *voterFlags) change(cmd *cobra.Command, req kmsg.Request, whom, did string) error {
	out := cmd.OutOrStdout()
	if f.dryRun {
		_, err := fmt.Fprintf(out, "DRY RUN: not %s: %s\n", strings.ToLower(did), whom)
		return err
	}
	if f.controllers != "" {
		f.bootstrap = f.controllers
	}
	client, err := f.client()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	if err := f.askLeader(ctx, client, req); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s %s\n", did, whom)
	return err
}

// askLeader sends a request to the first address that answers. A broker passes
// it on to the leader; a controller that does not lead says who does.
func (f *voterFlags) askLeader(ctx context.Context, client *kgo.Client, req kmsg.Request) error {
	settled := false
	err := eachAnswering(ctx, client, func(_ int, seed *kgo.Broker) (bool, error) {
		err := changeVoters(ctx, seed, req)
		if errors.Is(err, kerr.NotLeaderForPartition) || errors.Is(err, kerr.NotController) {
			leader, unknown := f.leaderAt(ctx, seed)
			if unknown != nil {
				return false, fmt.Errorf("%w; who leads: %w", err, unknown)
			}
			err = changeVoters(ctx, leader.SeedBrokers()[0], req)
			leader.Close()
		}
		var told *kerr.Error
		settled = err == nil || errors.As(err, &told)
		return settled, err
	})
	if settled {
		return err
	}
	return fmt.Errorf("no node at %s takes the change: %s", f.bootstrap, plain(err))
}

// changeVoters sends a request to one node. What the node answers keeps its
// code.
func changeVoters(ctx context.Context, to *kgo.Broker, req kmsg.Request) error {
	answer, err := to.Request(ctx, req)
	if err != nil {
		return err
	}
	code, message := int16(0), ""
	switch a := answer.(type) {
	case *kmsg.AddRaftVoterResponse:
		code, message = a.ErrorCode, text(a.ErrorMessage)
	case *kmsg.RemoveRaftVoterResponse:
		code, message = a.ErrorCode, text(a.ErrorMessage)
	}
	if err := kerr.ErrorForCode(code); err != nil {
		return answered{refused("change of the voters", err, message), err}
	}
	return nil
}

// answered is an error that a node answered, in its words, with its code.
type answered struct {
	error
	code error
}

func (a answered) Unwrap() error { return a.code }

// leaderAt asks a controller where the leader is, and makes a client for it.
func (f *voterFlags) leaderAt(ctx context.Context, controller *kgo.Broker) (*kgo.Client, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType = 2 // KIP-919: controllers
	answer, err := controller.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.DescribeClusterResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	for _, b := range resp.Brokers {
		if b.NodeID == resp.ControllerID {
			to := clientFlags{bootstrap: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), timeout: f.timeout}
			return to.client()
		}
	}
	return nil, errors.New("nobody, it is said")
}
