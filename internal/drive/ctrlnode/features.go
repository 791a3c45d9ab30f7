package ctrlnode

import (
	"context"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// UpdateFeatures is Submit for features. A level of kraft.version is the
// quorum's to finalize: what else is asked for is validated first, then the
// quorum is asked, and the update comes last. It waits for the quorum, at most
// for the timeout.
func UpdateFeatures(n *Node, timeout time.Duration, want controller.FeaturesToUpdate, done func(struct{}, error)) {
	if level, asked := want.KRaftVersion(); asked && n.Active() {
		if err := n.raise(timeout, level, want); err != nil {
			done(struct{}{}, err)
			return
		}
	}
	Submit(n, timeout, updateFeatures(want), done)
}

func updateFeatures(want controller.FeaturesToUpdate) Decide[struct{}] {
	return func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[struct{}] {
		return controller.UpdateFeatures(img, soft, want)
	}
}

// raise has the quorum finalize kraft.version, if all of the request is sound.
func (n *Node) raise(timeout time.Duration, level int16, want controller.FeaturesToUpdate) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	epoch, ask := n.runner.Leading(), want.ValidateOnly
	want.ValidateOnly = true
	valid := make(chan error, 1)
	Submit(n, timeout, updateFeatures(want), func(_ struct{}, err error) { valid <- err })
	if err := <-valid; err != nil {
		return err
	}
	err := n.cfg.Quorum.RaiseLevel(ctx, epoch, level, ask)
	if kerr.Of(err) == kerr.NotLeaderOrFollower {
		return kerr.Errorf(kerr.NotController, "this controller does not lead epoch %d any more", epoch)
	}
	return err
}
