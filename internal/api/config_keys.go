package api

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// ConfigKeys tells the controller about configuration keys from the tables of
// package config and this node's file. It is a controller.Keys.
type ConfigKeys struct {
	topics config.LogConfig // what a topic without settings of its own has
	static *config.Config
}

// NewConfigKeys makes the keys of a node with a file.
func NewConfigKeys(static *config.Config) ConfigKeys {
	return ConfigKeys{topics: config.TopicDefaults(static), static: static}
}

// Check tells why the values of a resource cannot stand together.
func (k ConfigKeys) Check(r image.Resource, values map[string]string) error {
	switch r.Type {
	case image.TopicResource:
		if len(values) == 0 {
			return nil
		}
		_, err := k.topics.With(values)
		return err
	case image.ClientMetrics:
		return checkClientMetrics(values)
	case image.GroupResource:
		return config.CheckGroupConfig(values, k.static)
	}
	return nil
}

// Known tells whether this release has a key of a resource. A broker's may be a
// plugin's.
func (k ConfigKeys) Known(t image.ResourceType, key string) bool {
	switch t {
	case image.TopicResource:
		return config.LookupTopic(key) != nil
	case image.GroupResource:
		return config.LookupGroup(key) != nil
	case image.ClientMetrics:
		return slices.Contains(clientMetricsKeys, key)
	}
	return true
}

// clientMetricsKeys are the keys of a subscription of client metrics (KIP-714).
var clientMetricsKeys = []string{"interval.ms", "match", "metrics"}

// List gives the default of a key whose value is a list.
func (k ConfigKeys) List(t image.ResourceType, key string) (string, bool) {
	var found *config.Key
	switch t {
	case image.TopicResource:
		found = config.LookupTopic(key)
	case image.BrokerResource:
		found = config.Lookup(key)
	case image.GroupResource:
		found = config.LookupGroup(key)
	case image.ClientMetrics:
		return "", key == "metrics" || key == "match"
	}
	if found == nil || found.Type != config.List {
		return "", false
	}
	if !found.HasDefault() {
		return "", true
	}
	return found.Default, true
}

// matchable are what a subscription of client metrics can select by (KIP-714).
var matchable = []string{
	"client_id", "client_instance_id", "client_software_name", "client_software_version",
	"client_source_address", "client_source_port",
}

// checkClientMetrics checks a subscription of client metrics (KIP-714).
func checkClientMetrics(values map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		switch key {
		case "metrics":
		case "interval.ms":
			if n, err := strconv.Atoi(value); err != nil || n < 100 || n > 3_600_000 {
				return kerr.Errorf(kerr.InvalidConfig, "invalid value %q for interval.ms: it must be a number from 100 to 3600000", value)
			}
		case "match":
			if err := checkMatch(value); err != nil {
				return err
			}
		default:
			return kerr.Errorf(kerr.InvalidConfig, "unknown client metrics configuration %s: there are interval.ms, match, metrics", key)
		}
	}
	return nil
}

func checkMatch(value string) error {
	for pattern := range strings.SplitSeq(value, ",") {
		name, expression, ok := strings.Cut(strings.TrimSpace(pattern), "=")
		switch {
		case pattern == "":
			continue
		case !ok || !slices.Contains(matchable, strings.TrimSpace(name)):
			return kerr.Errorf(kerr.InvalidConfig, "invalid value %q for match: it must be a list of name=pattern with a name of %s",
				value, strings.Join(matchable, ", "))
		}
		if _, err := regexp.Compile(strings.TrimSpace(expression)); err != nil {
			return kerr.Errorf(kerr.InvalidConfig, "invalid value %q for match: %v", value, err)
		}
	}
	return nil
}
