package controller

import (
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// ProducerIDBlock is how many producer ids a broker gets at once.
const ProducerIDBlock = 1000

// ProducerIDs is a block of producer ids that belongs to one broker.
type ProducerIDs struct {
	First kafka.ProducerID
	Count int32
}

// AllocateProducerIDs gives a broker the next block of producer ids.
func AllocateProducerIDs(img *image.Image, broker kafka.NodeID, epoch kafka.BrokerEpoch) Decision[ProducerIDs] {
	if err := checkEpoch(img, broker, epoch); err != nil {
		return refuse[ProducerIDs](err)
	}
	first := img.NextProducerID()
	if first > math.MaxInt64-ProducerIDBlock {
		return refusef[ProducerIDs](kerr.UnknownServerError, "all producer ids up to %d are given away", first)
	}
	d := draftOn(img)
	d.add(&metarec.ProducerIdsRecord{
		BrokerId: int32(broker), BrokerEpoch: int64(epoch), NextProducerId: int64(first) + ProducerIDBlock,
	})
	return piecewise(d, ProducerIDs{First: first, Count: ProducerIDBlock})
}

// checkEpoch tells whether a request comes from the present incarnation of a
// broker.
func checkEpoch(img *image.Image, broker kafka.NodeID, epoch kafka.BrokerEpoch) error {
	b, ok := img.Broker(broker)
	switch {
	case !ok:
		return kerr.Errorf(kerr.StaleBrokerEpoch, "broker %d is not registered", broker)
	case b.Epoch != epoch:
		return kerr.Errorf(kerr.StaleBrokerEpoch, "broker %d has epoch %d, not %d", broker, b.Epoch, epoch)
	}
	return nil
}
