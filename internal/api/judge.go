package api

import (
	"maps"
	"strconv"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
)

// ConfigJudge is what a node tells of settings by, and judges changes of them.
type ConfigJudge struct {
	Self   kafka.NodeID
	View   View
	Static *config.Config // of the node's file
	// Loggers are those of this node. Like View it may be missing where nobody asks.
	Loggers Loggers
}

// broker tells why the settings of this broker, or of all of them, cannot change.
func (j ConfigJudge) broker(a alteration) error {
	before := LayersOf(j.View.Image(), j.Self, j.Static)
	after := before
	check, layer := config.CheckClusterConfig, &after.Cluster
	if a.resource.Name != "" {
		if err := mustBeBroker(j.Self, a.resource.Name); err != nil {
			return err
		}
		check, layer = config.CheckBrokerConfig, &after.Broker
	}
	for _, c := range a.changes {
		if c.Op == controller.DeleteConfig || c.Op == controller.SubtractConfig {
			continue
		}
		if err := check(c.Key, *c.Value); err != nil {
			return err
		}
	}
	*layer = maps.Clone(*layer)
	if err := a.apply(ConfigKeys{static: j.Static}, *layer); err != nil {
		return err
	}
	return before.CheckChange(after)
}

// apply makes the changes to what is stored of a resource.
func (a alteration) apply(keys ConfigKeys, stored map[string]string) error {
	if a.replaces {
		clear(stored)
	}
	for _, c := range a.changes {
		if err := controller.ApplyChange(keys, stored, a.resource, c); err != nil {
			return err
		}
	}
	return nil
}

// sane refuses what makes no sense of any resource. twice tells that the resource stands
// more than once in the request.
func (a alteration) sane(twice bool) error {
	r := a.resource
	if twice {
		return kerr.Errorf(kerr.InvalidRequest, "resource %v %q stands more than once in the request", r.Type, r.Name)
	}
	seen := map[string]bool{}
	for _, c := range a.changes {
		switch {
		case seen[c.Key]:
			return kerr.Errorf(kerr.InvalidRequest, "key %s stands more than once for resource %v %q", c.Key, r.Type, r.Name)
		case c.Value == nil && c.Op != controller.DeleteConfig:
			return kerr.Errorf(kerr.InvalidRequest, "null value not supported for: %s", c.Key)
		}
		seen[c.Key] = true
	}
	return nil
}

// mustBeBroker tells a broker's resource that is not this broker's.
func mustBeBroker(self kafka.NodeID, name string) error {
	if err := mustBeNumber(name); err != nil {
		return err
	}
	// Other spellings of the number would be other resources.
	if name != strconv.Itoa(int(self)) {
		return kerr.Errorf(kerr.InvalidRequest, "Unexpected broker id, expected %d, but received %s", self, name)
	}
	return nil
}

func mustBeNumber(name string) error {
	if _, err := strconv.ParseInt(name, 10, 32); err != nil {
		return kerr.Errorf(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", name)
	}
	return nil
}
