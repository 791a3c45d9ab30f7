package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// WaitingRoutes are the APIs of the active controller at one that knows no metadata yet and
// does not lead. All are listed and refused with NOT_CONTROLLER, so that who takes it for
// the leader looks for another one. Were they not listed, an Apache Kafka node would log an
// error of an unsupported version, and ask again.
func WaitingRoutes() []Route {
	all := append(ControlRoutes(ControlDeps{}), EnvelopeRoute(nil))
	for i := range all {
		all[i].Serve = refuseWaiting
	}
	return all
}

func refuseWaiting(r *transport.Request, reply func(transport.Reply)) {
	resp := refuseWhole(r.Body, kerr.Errorf(kerr.NotController, "this controller does not lead, and has no metadata yet"))
	resp.SetVersion(r.Version)
	reply(transport.FromMessage(resp))
}
