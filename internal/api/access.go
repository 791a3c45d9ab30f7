package api

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Access is who may do what on a controller's listeners, by the committed metadata. Nil:
// everybody everything, as without an authorizer.
type Access struct {
	Rules auth.Rules
	View  View
}

// allows tells whether the sender of a request may do something. What a node asks itself
// is not judged.
func (a *Access) allows(r *transport.Request, op auth.Operation, to auth.Resource) bool {
	if a == nil || r.Conn.InProcess {
		return true
	}
	return a.Rules.Allowed(a.View.Image(), auth.Somebody{Principal: r.Conn.Principal, Host: r.Conn.ClientHost}, op, to)
}

// clusterOperations are what a sender must be allowed to do to the cluster, by the key of
// its request. Others are judged by the resources that they name, or not at all.
var clusterOperations = map[int16]auth.Operation{
	1: auth.ClusterAction, 52: auth.ClusterAction, 53: auth.ClusterAction, 54: auth.ClusterAction, 56: auth.ClusterAction,
	58: auth.ClusterAction, 59: auth.ClusterAction, 62: auth.ClusterAction, 63: auth.ClusterAction, 67: auth.ClusterAction,
	70: auth.ClusterAction, 73: auth.ClusterAction, 82: auth.ClusterAction,
	29: auth.Describe, 46: auth.Describe, 50: auth.Describe, 55: auth.Describe,
	30: auth.Alter, 31: auth.Alter, 34: auth.Alter, 43: auth.Alter, 45: auth.Alter, 51: auth.Alter, 57: auth.Alter, 60: auth.Alter, 64: auth.Alter,
	80: auth.Alter, 81: auth.Alter, 94: auth.Alter,
	49: auth.AlterConfigs,
}

// Guard puts the checks of who may do what before routes of a controller.
func (a *Access) Guard(routes []Route) []Route {
	if a == nil {
		return routes
	}
	guarded := make([]Route, len(routes))
	for i, r := range routes {
		guarded[i] = r
		if op, ok := clusterOperations[r.Key]; ok {
			guarded[i].Serve = a.cluster(op, r.Serve)
		} else if split, ok := splits[r.Key]; ok {
			guarded[i].Serve = a.named(split, r.Serve)
		}
	}
	return guarded
}

// cluster serves those who may do something to the cluster.
func (a *Access) cluster(op auth.Operation, serve transport.Handler) transport.Handler {
	return func(r *transport.Request, reply func(transport.Reply)) {
		if a.allows(r, op, auth.TheCluster) {
			serve(r, reply)
			return
		}
		resp := deniedRequest(r.Body)
		resp.SetVersion(r.Version)
		reply(transport.FromMessage(resp))
	}
}

// deniedRequest refuses a request as a whole.
func deniedRequest(req kmsg.Request) kmsg.Response {
	return refuseWhole(req, kerr.Errorf(kerr.ClusterAuthorizationFailed, "Cluster authorization failed."))
}

// refuseWhole refuses a request to the controller: in each of its entries, or at the top.
func refuseWhole(req kmsg.Request, err error) kmsg.Response {
	if resp := refusal(req, err); resp != nil {
		return resp
	}
	resp := req.ResponseKind()
	fields := reflect.ValueOf(resp).Elem()
	if f := fields.FieldByName("ErrorCode"); f.IsValid() {
		f.SetInt(int64(kerr.Of(err)))
	}
	if f := fields.FieldByName("ErrorMessage"); f.IsValid() {
		f.Set(reflect.ValueOf(kerr.Message(err)))
	}
	return resp
}

// split takes out of a request what its sender may not do. join gives the answer to the
// rest what is missing.
type split func(a *Access, r *transport.Request) (rest kmsg.Request, join func(kmsg.Response))

// splits are the requests that are judged by the resources that they name.
var splits = map[int16]split{
	19: splitCreateTopics, 20: splitDeleteTopics, 32: splitDescribeConfigs, 33: splitAlterConfigs,
	37: splitCreatePartitions, 44: splitIncrementalAlterConfigs,
}

// named serves what is left of a request.
func (a *Access) named(s split, serve transport.Handler) transport.Handler {
	return func(r *transport.Request, reply func(transport.Reply)) {
		rest := *r
		body, join := s(a, r)
		rest.Body = body
		serve(&rest, func(answer transport.Reply) {
			if resp, ok := answer.Message(); ok {
				join(resp)
			}
			reply(answer)
		})
	}
}

// allowsTopic tells whether the sender may do something to a topic.
func (a *Access) allowsTopic(r *transport.Request, op auth.Operation, name string) bool {
	return a.allows(r, op, auth.Resource{Kind: auth.Topic, Name: name})
}

// sorted parts what is allowed from what is not.
func sorted[T any](all []T, allowed func(T) bool) (yes, no []T) {
	for _, v := range all {
		if allowed(v) {
			yes = append(yes, v)
		} else {
			no = append(no, v)
		}
	}
	return yes, no
}
