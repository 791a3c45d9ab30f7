package ctrlnode

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// registrationWait is the pause after a registration that was not taken.
const registrationWait = 100 * time.Millisecond

// registrationTimeout bounds one attempt.
const registrationTimeout = 5 * time.Second

// Registrar keeps a controller registered with the active one (KIP-919): where
// it listens and which features it supports.
type Registrar struct {
	self    kafka.NodeID
	request *kmsg.ControllerRegistrationRequest
	send    func(context.Context, kmsg.Request) (kmsg.Response, error)
	log     *slog.Logger
	missing chan struct{} // room for one: the image lacks our registration
}

// Registration is what a controller says about itself.
type Registration struct {
	Node        kafka.NodeID
	Incarnation kafka.UUID
	Listeners   []image.Endpoint
	Features    []image.VersionRange
}

// NewRegistrar makes a registrar that sends through send, which finds the
// active controller.
func NewRegistrar(r Registration, send func(context.Context, kmsg.Request) (kmsg.Response, error), log *slog.Logger) *Registrar {
	req := kmsg.NewPtrControllerRegistrationRequest()
	req.ControllerID = int32(r.Node)
	req.IncarnationID = r.Incarnation
	for _, e := range r.Listeners {
		l := kmsg.NewControllerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = e.Name, e.Host, e.Port, e.Protocol
		req.Listeners = append(req.Listeners, l)
	}
	for _, f := range r.Features {
		level := kmsg.NewControllerRegistrationRequestFeature()
		level.Name, level.MinSupportedVersion, level.MaxSupportedVersion = f.Name, f.Min, f.Max
		req.Features = append(req.Features, level)
	}
	return &Registrar{self: r.Node, request: req, send: send, log: log, missing: make(chan struct{}, 1)}
}

// Publish looks whether the image has our registration. It is a publisher.
func (r *Registrar) Publish(_ image.Delta, img *image.Image) {
	if img.Level() < image.LevelControllers {
		return // no record for it yet
	}
	if c, ok := img.Controller(r.self); ok && c.Incarnation == kafka.UUID(r.request.IncarnationID) {
		return
	}
	select {
	case r.missing <- struct{}{}:
	default: // being seen to
	}
}

// Run registers whenever the image lacks us, until ctx ends.
func (r *Registrar) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.missing:
		}
		err := r.register(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		r.log.Debug("controller registration not taken yet", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(registrationWait):
			select {
			case r.missing <- struct{}{}:
			default:
			}
		}
	}
}

func (r *Registrar) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registrationTimeout)
	defer cancel()
	got, err := r.send(ctx, r.request)
	if err != nil {
		return err
	}
	resp, ok := got.(*kmsg.ControllerRegistrationResponse)
	if !ok {
		return errors.New("the controller answered with something else")
	}
	if code := kerr.Code(resp.ErrorCode); code != kerr.None {
		return code
	}
	return nil
}
