package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/controller"
)

// Loggers are the loggers of this node by name, with levels in Kafka's words. They are
// a resource of their own, which nothing is stored of (KIP-412). *metrics.Levels are.
type Loggers interface {
	All() map[string]string
	Set(name, level string)
	Clear(name string)
}

// fromLogger is the source of a logger's level.
const fromLogger config.Source = 6

// describeLoggers tells the levels of all loggers, or of those wanted.
func describeLoggers(all Loggers, wanted []string) []config.Described {
	levels := all.All()
	var out []config.Described
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		if level := levels[name]; wanted == nil || slices.Contains(wanted, name) {
			out = append(out, config.Described{Name: name, Value: &level, Source: fromLogger})
		}
	}
	return out
}

// loggers tells why the levels of loggers cannot be changed so.
func (j ConfigJudge) loggers(a alteration) error {
	if err := mustBeNode(j.Self, a.resource.Name); err != nil {
		return err
	}
	if a.replaces {
		return kerr.Errorf(kerr.InvalidRequest, "Unknown resource type %d", int8(a.resource.Type))
	}
	known := j.Loggers.All()
	for _, c := range a.changes {
		if err := checkLogger(known, c); err != nil {
			return err
		}
	}
	return nil
}

func checkLogger(known map[string]string, c controller.ConfigChange) error {
	switch c.Op {
	case controller.AppendConfig, controller.SubtractConfig:
		return kerr.Errorf(kerr.InvalidRequest, "%s operation is not allowed for the BROKER_LOGGER resource",
			map[controller.ConfigOp]string{controller.AppendConfig: "APPEND", controller.SubtractConfig: "SUBTRACT"}[c.Op])
	case controller.SetConfig, controller.DeleteConfig:
	default:
		return kerr.Errorf(kerr.InvalidRequest, "operation %d on key %s does not exist", c.Op, c.Key)
	}
	_, exists := known[c.Key]
	switch {
	case !exists:
		return kerr.Errorf(kerr.InvalidConfig, "Logger %s does not exist!", c.Key)
	case c.Op == controller.DeleteConfig && c.Key == metrics.RootLogger:
		return kerr.Errorf(kerr.InvalidRequest, "Removing the log level of the root logger is not allowed")
	case c.Op == controller.SetConfig && !slices.Contains(metrics.LevelWords(), *c.Value):
		return kerr.Errorf(kerr.InvalidConfig, "Cannot set the log level of %s to %s as it is not a supported log level. Valid log levels are %s",
			c.Key, *c.Value, strings.Join(metrics.LevelWords(), ", "))
	}
	return nil
}

// setLevels makes changes that were judged.
func (j ConfigJudge) setLevels(changes []controller.ConfigChange) {
	for _, c := range changes {
		if c.Op == controller.DeleteConfig {
			j.Loggers.Clear(c.Key)
		} else {
			j.Loggers.Set(c.Key, *c.Value)
		}
	}
}

// ofLoggers takes what a request says of loggers out of it and answers that: it is for
// the node that was asked, be it a broker or a controller.
func (j ConfigJudge) ofLoggers(req *kmsg.IncrementalAlterConfigsRequest) (rest *kmsg.IncrementalAlterConfigsRequest, own []kmsg.IncrementalAlterConfigsResponseResource) {
	left := *req
	left.Resources = nil
	count := map[string]int{}
	for _, r := range req.Resources {
		if r.ResourceType == kmsg.ConfigResourceTypeBrokerLogger {
			count[r.ResourceName]++
		}
	}
	for _, r := range req.Resources {
		if r.ResourceType != kmsg.ConfigResourceTypeBrokerLogger {
			left.Resources = append(left.Resources, r)
			continue
		}
		a := alteration{resource: resourceOf(r.ResourceType, r.ResourceName), changes: incrementalChanges(r)}
		err := a.sane(count[r.ResourceName] > 1)
		if err == nil {
			err = j.loggers(a)
		}
		if err == nil && !req.ValidateOnly {
			j.setLevels(a.changes)
		}
		own = append(own, incrementalResult(a.resource, err))
	}
	return &left, own
}

// mustBeNode tells a resource of loggers that is not this node's.
func mustBeNode(self kafka.NodeID, name string) error {
	if err := mustBeNumber(name); err != nil {
		return err
	}
	if name != strconv.Itoa(int(self)) {
		return kerr.Errorf(kerr.InvalidRequest, "Unexpected node id. Expected %d, but received %s", self, name)
	}
	return nil
}
