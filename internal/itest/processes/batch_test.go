package processes

import (
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// idempotentBatch is one record of a producer.
func idempotentBatch(producer int64, epoch int16, sequence int32, value string) []byte {
	b := batch.NewBuilder(batch.Options{
		LeaderEpoch: kafka.NoEpoch,
		Producer:    &batch.Producer{ID: kafka.ProducerID(producer), Epoch: epoch, Sequence: sequence},
	})
	b.Add(1_700_000_000_000, nil, []byte(value))
	return b.Build(nil)
}
