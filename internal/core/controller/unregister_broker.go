package controller

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// UnregisterBroker removes a broker for good. One that is alive registers
// again.
func UnregisterBroker(img *image.Image, soft *Soft, id kafka.NodeID) Decision[struct{}] {
	b, ok := img.Broker(id)
	if !ok {
		return refusef[struct{}](kerr.BrokerIdNotRegistered, "broker %d is not registered", id)
	}
	d := draftOn(img)
	d.leaveUnclean(soft, id)
	d.add(&metarec.UnregisterBrokerRecord{BrokerId: int32(id), BrokerEpoch: int64(b.Epoch)})
	return bounded(piecewise(d, struct{}{})).then(func() { soft.Live.forget(id) })
}
