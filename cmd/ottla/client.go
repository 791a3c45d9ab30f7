package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// clientFlags are the flags of every command that talks to a cluster.
type clientFlags struct {
	bootstrap string
	asJSON    bool
	timeout   time.Duration
}

func (f *clientFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.bootstrap, "bootstrap-server", "b", "localhost:9092", "host:port of brokers to begin with, separated by commas")
	f.timeout = 15 * time.Second
	flags.Var((*patientFor)(&f.timeout), "timeout", "time after which a cluster that does not answer is given up")
}

func (f *clientFlags) defineJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print as JSON")
}

// connect makes a client and sees that a broker answers, so that a wrong
// address is told at once and by name. The client begins with that broker.
func (f *clientFlags) connect(ctx context.Context, options ...kgo.Opt) (*kgo.Client, error) {
	client, err := f.client(options...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err = eachAnswering(ctx, client, func(n int, seed *kgo.Broker) (bool, error) {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{} // the brokers alone
		if _, err := seed.Request(ctx, req); err != nil {
			return false, err
		}
		return true, client.UpdateSeedBrokers(f.addresses()[n])
	})
	if err != nil {
		client.Close()
		var cut *kgo.ErrFirstReadEOF
		if errors.As(err, &cut) {
			return nil, fmt.Errorf("no broker answers at %s: the connection was closed without an answer, as on a port that is for controllers or wants TLS or SASL (--bootstrap-server)", f.bootstrap)
		}
		return nil, fmt.Errorf("no broker answers at %s: %s; is a node running there? (--bootstrap-server)", f.bootstrap, plain(err))
	}
	return client, nil
}

func (f *clientFlags) addresses() []string { return strings.Split(f.bootstrap, ",") }

// client makes a client that has not met its cluster yet.
func (f *clientFlags) client(options ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(f.addresses()...),
		kgo.ClientID("ottla-cli"),
		kgo.RetryTimeout(f.requestTimeout()),
		kgo.RequestTimeoutOverhead(f.answerTimeout()),
		// New topics and leaders are found soon; these commands live for seconds.
		kgo.MetadataMinAge(50 * time.Millisecond),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("--bootstrap-server %s: %w", f.bootstrap, err)
	}
	return client, nil
}

// cluster is the admin client with the plain one, for what the former has no
// method for.
type cluster struct {
	*kadm.Client
	raw *kgo.Client
}

// admin runs a piece of work with an admin client and a deadline.
func (f *clientFlags) admin(cmd *cobra.Command, work func(ctx context.Context, admin *cluster) error) error {
	client, err := f.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	admin := &cluster{kadm.NewClient(client), client}
	admin.SetTimeoutMillis(int32(f.requestTimeout() / time.Millisecond))
	err = work(ctx, admin)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the cluster at %s did not answer within %v (--timeout)", f.bootstrap, f.timeout)
	}
	return err
}

// requestTimeout is the time that requests and their repetitions get: less than
// the command has, so that it can tell what the cluster says in the end.
func (f *clientFlags) requestTimeout() time.Duration { return f.timeout - f.timeout/8 }

// answerTimeout is how long one node may take for an answer, beyond what the
// request itself lets it wait, before the client turns to another one. The
// client library takes 100 ms to 15 minutes.
func (f *clientFlags) answerTimeout() time.Duration {
	return min(max(f.timeout/2, 100*time.Millisecond), 15*time.Minute)
}

// plain is the text of an error in one line, without what only a programmer
// wants.
func plain(err error) string {
	var op *net.OpError
	var code *kerr.Error
	var shards *kadm.ShardErrors
	switch {
	case err == nil:
		return ""
	case errors.As(err, &shards) && len(shards.Errs) > 0:
		return plain(shards.Errs[0].Err)
	case timedOut(err):
		return "no answer in time (--timeout)"
	case errors.As(err, &op) && op.Err != nil:
		return op.Op + " " + op.Err.Error()
	case errors.As(err, &code):
		return code.Message + ": " + strings.TrimSuffix(code.Description, ".")
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// timedOut tells whether somebody did not answer, on a connection or at all.
func timedOut(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// refused is the error of an answer: what was asked for, the code, and the
// broker's own words where it has some.
func refused(what string, err error, message string) error {
	if message == "" {
		return fmt.Errorf("%s: %s", what, plain(err))
	}
	var code *kerr.Error
	if errors.As(err, &code) {
		return fmt.Errorf("%s: %s: %s", what, code.Message, message)
	}
	return fmt.Errorf("%s: %s", what, message)
}

// pairs reads key=value arguments.
func pairs(flag string, list []string) (map[string]string, error) {
	values := map[string]string{}
	for _, item := range list {
		key, value, ok := strings.Cut(item, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--%s %q is not of the form key=value", flag, item)
		}
		values[key] = value
	}
	return values, nil
}

// joined writes ids separated by commas.
func joined(ids []int32) string {
	text := make([]string, len(ids))
	for i, id := range ids {
		text[i] = fmt.Sprint(id)
	}
	return strings.Join(text, ",")
}
