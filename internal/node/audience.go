package node

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/metaview"
)

// audience are the parts that want to know what the quorum commits. One that a
// role does not need is nil.
type audience struct {
	features   *featureGate
	live       *liveSettings
	changes    *changes
	broker     *brokerRole
	controller *controllerRole
}

// publishers are who gets each new image, in this order.
func (a *audience) publishers() []metaview.Publisher {
	return []metaview.Publisher{
		{Name: "features", Publish: func(delta image.Delta, img *image.Image) { a.features.publish(delta, img) }},
		{Name: "settings", Publish: func(delta image.Delta, img *image.Image) { a.live.publish(delta, img) }},
		{Name: "metrics", Publish: func(delta image.Delta, img *image.Image) { a.changes.publish(delta, img) }},
		{Name: "broker", Publish: a.toBroker},
		{Name: "registration", Publish: a.toController},
	}
}

// toBroker keeps what the node does not serve from the broker.
func (a *audience) toBroker(delta image.Delta, img *image.Image) {
	if a.broker != nil && a.features.open() {
		a.broker.publish(delta, img)
	}
}

func (a *audience) toController(delta image.Delta, img *image.Image) {
	if a.controller != nil {
		a.controller.registrar.Publish(delta, img)
	}
}

// applied is called when everything below end has been seen by the publishers.
func (a *audience) applied(end kafka.Offset) {
	if a.controller != nil {
		a.controller.node.Applied(end)
	}
	if a.broker != nil {
		a.broker.life.Published(end - 1)
	}
}

// leader is called when a leader comes or goes, with all that was committed
// before.
func (a *audience) leader(leader kafka.NodeID, epoch kafka.Epoch, latest *image.Image) {
	if leader != kafka.NoNode {
		a.changes.Claims.Add(1)
	}
	if a.controller != nil {
		a.controller.node.Leader(leader, epoch, latest)
	}
}

// worked is what our own controller made of records when it wrote them.
func (a *audience) worked(epoch kafka.Epoch, begin, end kafka.Offset) []image.Stride {
	if a.controller == nil {
		return nil
	}
	return a.controller.node.Worked(epoch, begin, end)
}
