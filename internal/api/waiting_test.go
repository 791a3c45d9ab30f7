package api

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// "All are listed and refused with NOT_CONTROLLER", in each version, and as well for each
// topic or other thing that a request is about.
func TestAWaitingControllerListsWhatItRefuses(t *testing.T) {
	view := towns(t)
	waiting := NewTable(OnController, aboutOf(view), WaitingRoutes())
	active := NewTable(OnController, aboutOf(view), append(ControlRoutes(ControlDeps{View: view}), EnvelopeRoute(nil)))
	for i, r := range active.Routes() {
		if w := waiting.Routes()[i]; w.Key != r.Key || w.Min != r.Min || w.Max != r.Max {
			t.Fatalf("listed is %d v%d to v%d, and the active one has %d v%d to v%d", w.Key, w.Min, w.Max, r.Key, r.Min, r.Max)
		}
		for version := r.Min; version <= r.Max && r.Key != keyApiVersions; version++ {
			req := kmsg.RequestForKey(r.Key)
			nameOne(reflect.ValueOf(req).Elem())
			resp := ask[kmsg.Response](t, waiting, "CONTROLLER", req, version)
			if !Elsewhere(resp) || !holds(resp, kerr.NotController) {
				t.Errorf("%T v%d: %+v", req, version, resp)
			}
		}
	}
}

// nameOne puts one entry into each list of a request.
func nameOne(v reflect.Value) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.CanSet() {
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			if one := f.Index(0); one.Kind() == reflect.Struct {
				nameOne(one)
			}
		}
	}
}
