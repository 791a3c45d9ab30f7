package api

import (
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeConfigs answers DescribeConfigs (KIP-133, 226, 569) from the metadata
// this node knows and its own file.
type describeConfigs struct {
	view    View
	self    kafka.NodeID
	static  *config.Config
	loggers Loggers
	limit   int // of the texts in one answer, in bytes
}

// describedLimit keeps an answer below the 100 MB that clients read, and this
// node from building much more than it can send.
const describedLimit = 64 << 20

// ConfigRoutes are the APIs that tell a node's and its topics' settings.
func ConfigRoutes(judge ConfigJudge) []Route {
	return []Route{describeConfigs{judge.View, judge.Self, judge.Static, judge.Loggers, describedLimit}.route()}
}

func (h describeConfigs) route() Route { return route(1, 4, h.serve).on(Everywhere) }

func (h describeConfigs) serve(_ Context, req *kmsg.DescribeConfigsRequest) kmsg.Response {
	img := h.view.Image()
	resp := kmsg.NewPtrDescribeConfigsResponse()
	left := h.limit
	for _, want := range resourcesOnce(req.Resources) {
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = want.ResourceType, want.ResourceName
		var err error
		if r.Configs, err = h.configs(img, req, want, left); err != nil {
			r.ErrorCode, r.ErrorMessage = code(err), kerr.Message(err)
		}
		for i := range r.Configs {
			left -= textBytes(&r.Configs[i])
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

// configs describes one resource; left is the room for its texts. The one that
// uses it up still has its answer, those behind it have not.
func (h describeConfigs) configs(img *image.Image, req *kmsg.DescribeConfigsRequest, want kmsg.DescribeConfigsRequestResource, left int) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	out := []kmsg.DescribeConfigsResponseResourceConfig{}
	if left <= 0 {
		return out, kerr.Errorf(kerr.PolicyViolation, "the answer is full: ask for fewer resources or keys in one request")
	}
	all, err := h.describe(img, resourceOf(want.ResourceType, want.ResourceName), want.ConfigNames)
	for _, d := range all {
		out = append(out, described(d, req))
	}
	return out, err
}

// resourcesOnce puts what a request asks of the same resource together: nil
// keys are all of them.
func resourcesOnce(asked []kmsg.DescribeConfigsRequestResource) []kmsg.DescribeConfigsRequestResource {
	at := make(map[image.Resource]int, len(asked))
	var once []kmsg.DescribeConfigsRequestResource
	for _, a := range asked {
		i, again := at[resourceOf(a.ResourceType, a.ResourceName)]
		switch {
		case !again:
			at[resourceOf(a.ResourceType, a.ResourceName)] = len(once)
			once = append(once, a)
		case a.ConfigNames == nil || once[i].ConfigNames == nil:
			once[i].ConfigNames = nil
		default:
			once[i].ConfigNames = slices.Concat(once[i].ConfigNames, a.ConfigNames)
		}
	}
	return once
}

// textBytes is about what a key takes in an answer.
func textBytes(c *kmsg.DescribeConfigsResponseResourceConfig) int {
	size := func(s *string) int {
		if s == nil {
			return 0
		}
		return len(*s)
	}
	n := len(c.Name) + size(c.Value) + size(c.Documentation)
	for i := range c.ConfigSynonyms {
		n += len(c.ConfigSynonyms[i].Name) + size(c.ConfigSynonyms[i].Value)
	}
	return n
}

func (h describeConfigs) describe(img *image.Image, r image.Resource, wanted []string) ([]config.Described, error) {
	layers := LayersOf(img, h.self, h.static)
	switch r.Type {
	case image.TopicResource:
		if err := kafka.CheckTopicName(r.Name); err != nil {
			return nil, kerr.Errorf(kerr.InvalidTopicException, "%v", err)
		}
		if _, ok := img.TopicNamed(r.Name); !ok {
			return nil, kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q does not exist", r.Name)
		}
		return layers.DescribeTopic(storedConfig(img, r), wanted), nil
	case image.BrokerResource:
		if r.Name == "" {
			return layers.DescribeCluster(wanted), nil
		}
		if err := describable(h.self, r.Name); err != nil {
			return nil, err
		}
		return layers.DescribeBroker(wanted), nil
	case image.BrokerLoggerResource:
		if err := describable(h.self, r.Name); err != nil {
			return nil, err
		}
		return describeLoggers(h.loggers, wanted), nil
	case image.ClientMetrics, image.GroupResource:
		if r.Name == "" {
			return nil, kerr.Errorf(kerr.InvalidRequest, "the name of a %v resource must not be empty", r.Type)
		}
		return storedOnly(img, r, wanted), nil
	}
	return nil, kerr.Errorf(kerr.InvalidRequest, "resource type %d does not exist", int8(r.Type))
}

// describable tells a name that is not this node's, in the words of DescribeConfigs.
func describable(self kafka.NodeID, name string) error {
	_, err := strconv.ParseInt(name, 10, 32)
	switch {
	case name == "":
		return kerr.Errorf(kerr.InvalidRequest, "Broker id must not be empty")
	case err != nil:
		return kerr.Errorf(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
	case name != strconv.Itoa(int(self)): // other spellings of the number are other resources
		return kerr.Errorf(kerr.InvalidRequest, "Unexpected broker id, expected %d but received %s", self, name)
	}
	return nil
}

// Sources that only DescribeConfigs knows.
const (
	fromClientMetrics config.Source = 7
	fromGroup         config.Source = 8
)

// storedOnly tells what the log holds for a resource that has no other layer.
func storedOnly(img *image.Image, r image.Resource, wanted []string) []config.Described {
	source := fromClientMetrics
	if r.Type == image.GroupResource {
		source = fromGroup
	}
	var all []config.Described
	for key, value := range img.Config(r).All() {
		if wanted == nil || slices.Contains(wanted, key) {
			all = append(all, config.Described{
				Name: key, Value: &value, Source: source,
				Synonyms: []config.Synonym{{Name: key, Value: &value, Source: source}},
			})
		}
	}
	return all
}

func described(d config.Described, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.ReadOnly, c.IsSensitive = d.Name, d.Value, d.ReadOnly, d.Sensitive
	c.Source, c.ConfigType = kmsg.ConfigSource(d.Source), kmsg.ConfigType(d.Type)
	c.IsDefault = d.Source == config.FromDefault
	if req.IncludeDocumentation && d.Doc != "" {
		c.Documentation = &d.Doc
	}
	c.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}
	if req.IncludeSynonyms {
		for _, s := range d.Synonyms {
			syn := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			syn.Name, syn.Value, syn.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
			c.ConfigSynonyms = append(c.ConfigSynonyms, syn)
		}
	}
	return c
}
