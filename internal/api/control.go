package api

import (
	"log/slog"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// ControlDeps is what the APIs of the controller need.
type ControlDeps struct {
	Controller *ctrlnode.Node
	// View is the committed metadata, which answers what only reads.
	View View
	// Self and Static are this node's id and its properties file.
	Self   kafka.NodeID
	Static *config.Config
	// Loggers are those of this node.
	Loggers Loggers
	Log     *slog.Logger
	// Access is who may do what; nil: everybody everything.
	Access *Access
}

// ControlRoutes are the APIs that the active controller serves, in the order of
// their keys. A broker passes those of clients on to it.
func ControlRoutes(d ControlDeps) []Route {
	c := d.Controller
	return slices.Concat(aclRoutes(c, d.View, d.Access), tokenRoutes(c, d.Access), []Route{
		createTopics{c, d.layers}.route(),
		deleteTopics{c}.route(),
		alterConfigs{c}.route(),
		createPartitions{c}.route(),
		electLeaders{c}.route(),
		incrementalAlterConfigs{c, ConfigJudge{Self: d.Self, Loggers: d.Loggers}}.route(),
		alterPartitionReassignments{c}.route(),
		alterPartition{c}.route(),
		alterClientQuotas{c, lookupHost}.route(),
		alterScram{c}.route(),
		updateFeatures{c}.route(),
		brokerRegistration{c}.route(),
		brokerHeartbeat{c, d.Log}.route(),
		unregisterBroker{c}.route(),
		allocateProducerIDs{c}.route(),
		controllerRegistration{c}.route(),
		assignReplicasToDirs{c}.route(),
		unregisterController{c}.route(),
	})
}

// controlTimeout is how long a request that names no time waits for its commit.
const controlTimeout = 30 * time.Second

// within is the time that a request gives the controller. A request must not
// wait for ever: what follows it on its connection waits too.
func within(timeoutMillis int32) time.Duration {
	if timeoutMillis > 0 {
		return time.Duration(timeoutMillis) * time.Millisecond
	}
	return controlTimeout
}

// mutator is who sent a request that makes or deletes partitions. From a version on it
// is refused when the quota for that is used up (KIP-599).
func mutator(c Context, strictFrom int16) controller.Mutator {
	return controller.Mutator{Principal: c.Conn.Principal, ClientID: c.ClientID, Strict: c.Version >= strictFrom}
}

// layers are this node's settings by the committed metadata.
func (d ControlDeps) layers() config.Layers { return LayersOf(d.View.Image(), d.Self, d.Static) }

// LayersOf puts a node's settings of the metadata log on top of its file.
func LayersOf(img *image.Image, self kafka.NodeID, static *config.Config) config.Layers {
	return config.Layers{
		Broker:  storedConfig(img, image.BrokerOf(self)),
		Cluster: storedConfig(img, image.AllBrokers),
		Static:  static,
	}
}

func storedConfig(img *image.Image, r image.Resource) map[string]string {
	values := make(map[string]string)
	for key, value := range img.Config(r).All() {
		values[key] = value
	}
	return values
}

// code is an error as responses carry it.
func code(err error) int16 { return int16(kerr.Of(err)) }

// nodesOf reads node ids off the wire.
func nodesOf(ids []int32) []kafka.NodeID {
	if ids == nil {
		return nil
	}
	out := make([]kafka.NodeID, len(ids))
	for i, id := range ids {
		out[i] = kafka.NodeID(id)
	}
	return out
}

// dirIDs reads directory ids off the wire; nil stays nil, which some requests
// take for "not said".
func dirIDs(ids [][16]byte) []kafka.DirID {
	if ids == nil {
		return nil
	}
	out := make([]kafka.DirID, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}
