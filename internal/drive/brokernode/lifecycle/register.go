package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// Bounds of the wait between two attempts to reach the controller.
const (
	firstWait = 10 * time.Millisecond
	lastWait  = time.Second
)

// register asks until the controller takes the registration. A refusal that no
// repetition can change ends it at once.
func (l *Lifecycle) register(ctx context.Context) error {
	deadline := time.Now().Add(l.cfg.RegistrationTimeout)
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := l.askToRegister(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case final(err):
			return fmt.Errorf("%w: %w", ErrRefused, err)
		case time.Now().After(deadline):
			return fmt.Errorf("not registered after %v: %w", l.cfg.RegistrationTimeout, err)
		}
		l.cfg.Log.Debug("registration not taken yet", "err", err)
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// final tells whether asking again would get the same answer. A duplicate
// registration ends when the session of the former broker does.
func final(err error) bool {
	switch kerr.Of(err) {
	case kerr.InconsistentClusterId, kerr.InvalidRequest, kerr.InvalidRegistration, kerr.UnsupportedVersion, kerr.ClusterAuthorizationFailed:
		return true
	}
	return false
}

func (l *Lifecycle) askToRegister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.HeartbeatInterval)
	defer cancel()
	got, err := l.cfg.Controller.Do(ctx, l.registration())
	if err != nil {
		return err
	}
	reply, ok := got.(*kmsg.BrokerRegistrationResponse)
	if !ok {
		return errors.New("the controller answered with something else")
	}
	if code := kerr.Code(reply.ErrorCode); code != kerr.None {
		return code
	}
	l.epoch.Store(reply.BrokerEpoch)
	l.cfg.Log.Info("registered with the controller", "epoch", reply.BrokerEpoch, "directories", len(l.online()))
	return nil
}

func (l *Lifecycle) registration() *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = req.MaxVersion()
	req.BrokerID = int32(l.cfg.Node)
	req.ClusterID = l.cfg.ClusterID
	req.IncarnationID = l.cfg.Incarnation
	req.Rack = l.cfg.Rack
	req.PreviousBrokerEpoch = int64(l.cfg.PreviousEpoch)
	for _, d := range l.online() {
		req.LogDirs = append(req.LogDirs, d)
	}
	for _, e := range l.cfg.Listeners {
		at := kmsg.NewBrokerRegistrationRequestListener()
		at.Name, at.Host, at.Port, at.SecurityProtocol = e.Name, e.Host, e.Port, e.Protocol
		req.Listeners = append(req.Listeners, at)
	}
	for _, f := range l.cfg.Features {
		level := kmsg.NewBrokerRegistrationRequestFeature()
		level.Name, level.MinSupportedVersion, level.MaxSupportedVersion = f.Name, f.Min, f.Max
		req.Features = append(req.Features, level)
	}
	return req
}

// pause waits; false means that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
