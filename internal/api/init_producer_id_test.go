package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
)

// silent is a controller that never answers.
type silent struct{}

func (silent) Do(ctx context.Context, _ kmsg.Request) (kmsg.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A node that stops does not wait for a block of ids, and nor do its clients.
func TestAllocationEndsWithTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := NewProducerIDs(silent{}, 1, func() kafka.BrokerEpoch { return 7 })
		refused := false
		ids.next(func(_ kafka.ProducerID, err error) { refused = err != nil })
		synctest.Wait()
		began := time.Now()
		ids.Close()
		if took := time.Since(began); took != 0 || !refused {
			t.Errorf("the stop took %v; who waits was told: %v", took, refused)
		}
	})
}
