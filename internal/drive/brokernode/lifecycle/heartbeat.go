package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// leavingPause is the time between the first heartbeat of a controlled shutdown
// and the second: the controller has usually moved all leaders by then.
const leavingPause = 50 * time.Millisecond

// beat sends heartbeats, one at a time, when the interval has passed or there
// is something new to say. It returns nil when ctx ended or the controller lets
// a leaving broker go.
func (l *Lifecycle) beat(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	told := failures{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.kick:
		case <-timer.C:
		}
		timer.Reset(l.interval())
		if !l.worthTelling() {
			continue
		}
		if err := l.heartbeat(ctx); ctx.Err() == nil {
			told = l.logHeartbeat(err, told)
		}
		if closed(l.goAway) {
			return nil
		}
		if dir, late := l.unheard(); late {
			return fmt.Errorf("directory %s failed and the controller has not heard of it for %v", dir, l.cfg.DirFailureTimeout)
		}
	}
}

// failures are what was logged of a row of failed heartbeats.
type failures struct{ failing, unregistered bool }

// logHeartbeat tells the first of a row of failures, and its end; the others add
// nothing, but for the one that time cannot mend. A broker that was unregistered
// while it ran does not register by itself, as in Apache Kafka: somebody wanted
// it out, or another process has its id. It returns what is told by now.
func (l *Lifecycle) logHeartbeat(err error, told failures) failures {
	unregistered := kerr.Of(err) == kerr.StaleBrokerEpoch || kerr.Of(err) == kerr.BrokerIdNotRegistered
	switch {
	case unregistered && !told.unregistered:
		l.cfg.Log.Error("the controller no longer knows this broker's registration: it was unregistered, or another process has taken its node id; restart this node to register it again",
			"broker", l.cfg.Node, "epoch", l.epoch.Load(), "err", err)
	case err != nil && !told.failing:
		l.cfg.Log.Warn("heartbeat failed; it is repeated", "err", err)
	case err != nil:
		l.cfg.Log.Debug("heartbeat failed again", "err", err)
	case told.failing:
		l.cfg.Log.Info("heartbeat taken again")
	}
	return failures{failing: err != nil, unregistered: err != nil && (unregistered || told.unregistered)}
}

func (l *Lifecycle) interval() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaving {
		return min(leavingPause, l.cfg.HeartbeatInterval)
	}
	return l.cfg.HeartbeatInterval
}

// worthTelling holds heartbeats back until this broker has read its own
// registration: the controller would only answer that it is not caught up.
func (l *Lifecycle) worthTelling() bool { return l.published.Load() >= l.epoch.Load() }

func (l *Lifecycle) heartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.HeartbeatInterval)
	defer cancel()
	req := l.status()
	got, err := l.cfg.Controller.Do(ctx, req)
	if err != nil {
		return err
	}
	reply, ok := got.(*kmsg.BrokerHeartbeatResponse)
	if !ok {
		return errors.New("the controller answered with something else")
	}
	if code := kerr.Code(reply.ErrorCode); code != kerr.None {
		return code
	}
	l.hear(req, reply)
	return nil
}

// status is what a heartbeat says. The broker asks to stay fenced until its
// replicas are in place and the controller knows the directory of each
// (KIP-858).
func (l *Lifecycle) status() *kmsg.BrokerHeartbeatRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = req.MaxVersion()
	req.BrokerID = int32(l.cfg.Node)
	req.BrokerEpoch = l.epoch.Load()
	req.CurrentMetadataOffset = l.published.Load()
	req.WantFence = !closed(l.unfenced) && !(l.ready && l.assign.len() == 0)
	req.WantShutdown = l.leaving
	for dir := range l.failed {
		req.OfflineLogDirs = append(req.OfflineLogDirs, dir)
	}
	if l.cfg.Cordoned != nil {
		req.CordonedLogDirs = onWire(l.cfg.Cordoned())
	}
	return req
}

// onWire keeps nil, which says nothing, apart from a list without directories.
func onWire(ids []kafka.DirID) [][16]byte {
	if ids == nil {
		return nil
	}
	all := make([][16]byte, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return all
}

func (l *Lifecycle) hear(asked *kmsg.BrokerHeartbeatRequest, reply *kmsg.BrokerHeartbeatResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, dir := range asked.OfflineLogDirs {
		l.told[dir] = true
	}
	if !reply.IsFenced && !asked.WantFence && !closed(l.unfenced) {
		close(l.unfenced)
		l.cfg.Log.Info("unfenced")
	}
	if reply.ShouldShutdown && l.leaving && !closed(l.goAway) {
		close(l.goAway)
	}
}

// unheard finds a failed directory that the controller should have heard of.
func (l *Lifecycle) unheard() (kafka.DirID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for dir, since := range l.failed {
		if !l.told[dir] && time.Since(since) > l.cfg.DirFailureTimeout {
			return dir, true
		}
	}
	return kafka.DirID{}, false
}
