package interop

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/itest"
)

// configured is a combined node of either kind that is asked for its settings and to
// change them.
type configured struct {
	t     *testing.T
	kind  string
	cl    *kgo.Client
	words *strings.Replacer // for what differs between any two nodes
}

// twoConfigured are a node of Apache Kafka and one of ours by the same file, but for
// its ports and folders.
func twoConfigured(t *testing.T) (theirs, ours *configured) {
	t.Helper()
	one := func(kind string, start func(file string)) *configured {
		port, dir := itest.FreePorts(t, 2), t.TempDir()
		client, controller := fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("127.0.0.1:%d", port+1)
		file := itest.WriteFile(t, "node.properties", fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s,CONTROLLER://%s
controller.quorum.voters=1@%s
log.dirs=%s,%s
offsets.topic.replication.factor=1
log.retention.hours=100
`, client, controller, controller, filepath.Join(dir, "disk1"), filepath.Join(dir, "disk2")))
		start(file)
		itest.AwaitPort(t, client)
		cl, err := kgo.NewClient(kgo.SeedBrokers(client))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return &configured{t, kind, cl, strings.NewReplacer(client, "CLIENTS", controller, "CONTROLLERS", dir, "DIR")}
	}
	theirs = one("Apache Kafka", func(file string) {
		itest.FormatKafkaOf(t, itest.KafkaVersion, file, clusterID)
		itest.StartKafka(t, file)
	})
	ours = one("ours", func(file string) {
		itest.Ottla(t, "", "storage", "format", "-c", file, "-t", clusterID)
		itest.Start(t, "ottla", exec.Command(itest.Bin(t), "server", file))
	})
	return theirs, ours
}

// answerTo is the answer to a request; a node that still starts is asked again.
func answerTo[R kmsg.Response](n *configured, req kmsg.Request) (got R) {
	n.t.Helper()
	itest.Eventually(n.t, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		resp, err := n.cl.Broker(1).Request(ctx, req)
		if err != nil {
			return fmt.Errorf("%s: %w", n.kind, err)
		}
		got = resp.(R)
		return nil
	})
	return got
}

// described are the settings of a resource, each in a line that says all that
// DescribeConfigs tells but the documentation.
func (n *configured) described(kind kmsg.ConfigResourceType, name string, keys ...string) map[string]setting {
	n.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms = true
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	resp := answerTo[*kmsg.DescribeConfigsResponse](n, req).Resources[0]
	if resp.ErrorCode != 0 {
		n.t.Fatalf("%s: describe %v %q: code %d", n.kind, kind, name, resp.ErrorCode)
	}
	all := make(map[string]setting, len(resp.Configs))
	for _, c := range resp.Configs {
		s := setting{DescribeConfigsResponseResourceConfig: c}
		var line strings.Builder
		fmt.Fprintf(&line, "%s type=%v source=%v read-only=%v sensitive=%v", shownValue(c.Value), c.ConfigType, c.Source, c.ReadOnly, c.IsSensitive)
		for _, y := range c.ConfigSynonyms {
			fmt.Fprintf(&line, " [%s=%s %v]", y.Name, shownValue(y.Value), y.Source)
		}
		s.line = n.words.Replace(line.String())
		all[c.Name] = s
	}
	return all
}

// setting is one that a node has told.
type setting struct {
	kmsg.DescribeConfigsResponseResourceConfig
	line string
}

func shownValue(v *string) string {
	if v == nil {
		return "-"
	}
	return *v
}

// refusal is why a change was not made; code 0 says that it was.
type refusal struct {
	code    int16
	message string
}

func (r refusal) String() string { return fmt.Sprintf("%d %s", r.code, r.message) }

// alter sets a key of a resource, or takes it back where value is nil.
func (n *configured) alter(kind kmsg.ConfigResourceType, name, key string, value *string) refusal {
	n.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, value
	if value == nil {
		c.Op = kmsg.IncrementalAlterConfigOpDelete
	}
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp := answerTo[*kmsg.IncrementalAlterConfigsResponse](n, req).Resources[0]
	out := refusal{code: resp.ErrorCode}
	if resp.ErrorMessage != nil {
		out.message = n.words.Replace(*resp.ErrorMessage)
	}
	return out
}

// holds waits until a broker shows what it was told.
func (n *configured) holds(key string, source kmsg.ConfigSource, value string) {
	n.t.Helper()
	itest.Eventually(n.t, func() error {
		is, there := n.described(kmsg.ConfigResourceTypeBroker, "1", key)[key]
		switch {
		case source == kmsg.ConfigSourceDynamicBrokerConfig && !there:
		case source == kmsg.ConfigSourceDynamicBrokerConfig:
			if s := is.ConfigSynonyms; len(s) > 0 && s[0].Source == source && (is.IsSensitive || shownValue(s[0].Value) == value) {
				return nil
			}
		case !there || is.Source != kmsg.ConfigSourceDynamicBrokerConfig && is.Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig:
			return nil
		}
		return fmt.Errorf("%s: %s is not what was stored: %s", n.kind, key, is.line)
	})
}
