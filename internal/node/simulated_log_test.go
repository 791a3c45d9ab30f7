package node

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// simQuorum is the metadata log of a simulated cluster and its active controller.
// What is appended waits until the simulation commits it, or loses it with its
// leader.
type simQuorum struct {
	t    *testing.T
	node *ctrlnode.Node
	api  *api.Table

	mu      sync.Mutex
	epoch   kafka.Epoch
	pending [][]metarec.Message
	batches [][]metarec.Message // committed
	img     *image.Image        // of batches
	check   func(before, after *image.Image)
}

func newSimQuorum(t *testing.T) *simQuorum {
	q := &simQuorum{t: t, img: image.Empty()}
	quiet := slog.New(slog.DiscardHandler)
	static, err := config.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	q.node = ctrlnode.New(ctrlnode.Config{
		Self: 100, Quorum: q, Bootstrap: append(controller.Bootstrap(image.LatestLevel), controller.Versioned{Message: &metarec.FeatureLevelRecord{Name: image.ElrVersion, FeatureLevel: 1}}), Log: quiet,
		BalanceInterval: 20 * time.Second, Fault: func(err error) { t.Error(err) },
		Settings: &controller.Settings{
			Node: 100, ClusterID: testCluster, SessionTimeout: 9 * time.Second, DefaultPartitions: 1, DefaultReplication: 3, Keys: api.NewConfigKeys(static), MinInsyncReplicas: 2, DeleteTopics: true,
			Supported: image.Served(),
		},
	})
	q.api = api.NewTable(api.OnController, api.About{ClusterID: testCluster, Node: 100, View: q}, api.ControlRoutes(api.ControlDeps{Controller: q.node, View: q, Self: 100, Static: static, Log: quiet}))
	return q
}

func (q *simQuorum) Append(epoch kafka.Epoch, framed [][]byte) (kafka.Offset, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if epoch != q.epoch {
		return 0, kerr.NotController
	}
	var batch []metarec.Message
	for _, raw := range framed {
		m, _, err := metarec.ReadMetadata(raw)
		if err != nil {
			return 0, err
		}
		batch = append(batch, m)
	}
	q.pending = append(q.pending, batch)
	return q.end(), nil
}

// end is one past the last record. mu is held.
func (q *simQuorum) end() kafka.Offset {
	end := q.img.NextOffset()
	for _, b := range q.pending {
		end += kafka.Offset(len(b))
	}
	return end
}

func (q *simQuorum) LogEnd() kafka.Offset {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end()
}

func (q *simQuorum) Heir() bool                                { return false }
func (q *simQuorum) Bereaved(kafka.Epoch) (kafka.NodeID, bool) { return 0, false }
func (q *simQuorum) Resign(kafka.Epoch)                        {}
func (q *simQuorum) RaiseLevel(context.Context, kafka.Epoch, int16, bool) error {
	return kerr.UnsupportedVersion
}

// Image is the committed metadata.
func (q *simQuorum) Image() *image.Image {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.img
}

// commit commits the first n batches that wait.
func (q *simQuorum) commit(n int) {
	for range n {
		q.mu.Lock()
		if len(q.pending) == 0 {
			q.mu.Unlock()
			return
		}
		batch := q.pending[0]
		q.pending = q.pending[1:]
		before := q.img
		next, _, err := image.Apply(before, batch)
		if err != nil {
			q.t.Error(err)
		}
		q.img = next
		q.batches = append(q.batches, batch)
		end := q.img.NextOffset()
		q.mu.Unlock()
		q.check(before, next)
		q.node.Applied(end)
	}
}

// elect makes the controller active in a new epoch. Of what was not committed the next
// leader had the first n batches; nobody ever sees the rest.
func (q *simQuorum) elect(n int) {
	q.mu.Lock()
	lost := max(len(q.pending)-n, 0)
	q.pending = q.pending[:len(q.pending)-lost]
	q.epoch++
	other := q.epoch
	q.mu.Unlock()
	q.node.Leader(101, other, q.Image())
	q.commit(len(q.batchesWaiting()))
	q.mu.Lock()
	q.epoch++
	q.mu.Unlock()
	q.node.Leader(100, q.epoch, q.Image())
}

func (q *simQuorum) batchesWaiting() [][]metarec.Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pending
}

// since gives the batches that were committed after the first n.
func (q *simQuorum) since(n int) [][]metarec.Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.batches[n:]
}
