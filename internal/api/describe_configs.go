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
	view   View
	self   kafka.NodeID
	static *config.Config
}

// ConfigRoutes are the APIs that tell a node's and its topics' settings.
func ConfigRoutes(view View, self kafka.NodeID, static *config.Config) []Route {
	return []Route{describeConfigs{view, self, static}.route()}
}

func (h describeConfigs) route() Route { return route(1, 4, h.serve).on(Everywhere) }

func (h describeConfigs) serve(_ Context, req *kmsg.DescribeConfigsRequest) kmsg.Response {
	img := h.view.Image()
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, want := range req.Resources {
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = want.ResourceType, want.ResourceName
		all, err := h.describe(img, resourceOf(want.ResourceType, want.ResourceName), want.ConfigNames)
		r.ErrorCode, r.ErrorMessage = code(err), kerr.Message(err)
		r.Configs = make([]kmsg.DescribeConfigsResponseResourceConfig, 0, len(all))
		for _, d := range all {
			r.Configs = append(r.Configs, described(d, req))
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

func (h describeConfigs) describe(img *image.Image, r image.Resource, wanted []string) ([]config.Described, error) {
	layers := layersOf(img, h.self, h.static)
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
		if err := h.mustBeSelf(r.Name); err != nil {
			return nil, err
		}
		return layers.DescribeBroker(wanted), nil
	case image.BrokerLoggerResource:
		// Levels are this process's flag, not a setting per logger.
		return nil, h.mustBeSelf(r.Name)
	case image.ClientMetrics, image.GroupResource:
		if r.Name == "" {
			return nil, kerr.Errorf(kerr.InvalidRequest, "the name of a %v resource must not be empty", r.Type)
		}
		return storedOnly(img, r, wanted), nil
	}
	return nil, kerr.Errorf(kerr.InvalidRequest, "resource type %d does not exist", int8(r.Type))
}

func (h describeConfigs) mustBeSelf(name string) error {
	if id, err := strconv.ParseInt(name, 10, 32); err != nil || kafka.NodeID(id) != h.self {
		return kerr.Errorf(kerr.InvalidRequest, "unexpected broker id: this is node %d, the request is for %q", h.self, name)
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
