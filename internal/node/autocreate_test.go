package node

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// silent is a controller that never answers.
type silent struct{}

func (silent) Do(ctx context.Context, _ kmsg.Request) (kmsg.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A node that stops does not wait for a controller that may be gone.
func TestCreationEndsWithTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCreator(silent{}, func() {}, slog.New(slog.DiscardHandler))
		c.MakeTopics([]string{"t"})
		synctest.Wait()
		began := time.Now()
		c.close()
		if took := time.Since(began); took != 0 {
			t.Errorf("the stop took %v", took)
		}
	})
}
