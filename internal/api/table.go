package api

import (
	"slices"

	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/edge/transport"
)

// keyApiVersions is the API that tells about all others.
const keyApiVersions = 18

// Table is what one kind of listener serves. It is made once and not changed.
type Table struct {
	routes []Route // in the order of their keys
	byKey  []int16 // index into routes, -1 where a key is not served
}

// NewTable makes the table of a kind of listeners from the routes in its scope
// and the ApiVersions route that tells about them.
func NewTable(scope Scope, about About, routes []Route) *Table {
	t := &Table{}
	for _, r := range append(slices.Clone(routes), apiVersions{about, t}.route()) {
		if r.Scope&scope != 0 {
			t.routes = append(t.routes, r)
		}
	}
	slices.SortFunc(t.routes, func(a, b Route) int { return int(a.Key) - int(b.Key) })
	for i, r := range t.routes {
		for len(t.byKey) <= int(r.Key) {
			t.byKey = append(t.byKey, -1)
		}
		invariant.Check(t.byKey[r.Key] < 0, "two routes for key %d", r.Key)
		t.byKey[r.Key] = int16(i)
	}
	return t
}

// Routes are the routes in the order of their keys. They are not to be changed.
func (t *Table) Routes() []Route { return t.routes }

// Find implements transport.Routes. An unknown key and an unserved version
// close the connection, except for a version of ApiVersions that is newer than
// ours: its sender is told which one to ask (KIP-511).
func (t *Table) Find(key, version int16) (transport.Service, bool) {
	if key < 0 || int(key) >= len(t.byKey) || t.byKey[key] < 0 {
		return transport.Service{}, false
	}
	r := &t.routes[t.byKey[key]]
	switch {
	case r.Min <= version && version <= r.Max:
		return transport.Service{Handler: r.Serve, Barrier: r.Barrier, Recycle: r.Recycle}, true
	case key == keyApiVersions && version > r.Max:
		return transport.Service{Handler: r.tooNew, Barrier: true, NoBody: true}, true
	}
	return transport.Service{}, false
}
