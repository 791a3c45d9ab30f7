package node

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/ottla/ottla/internal/drive/metaview"
)

func apisOf(t *testing.T, c *controllerRole) *apis {
	t.Helper()
	e := newEnv(Options{Config: settings(t, t.TempDir(), "")})
	return newAPIs(e, testCluster, &metadata{env: e, view: metaview.New(metaview.Config{})}, newFeatureGate(e.failure), c)
}

func keysOf(t *api.Table) (keys []int16) {
	for _, r := range t.Routes() {
		keys = append(keys, r.Key)
	}
	return keys
}

// "what an active controller serves, and the same in an Envelope": the Envelope
// itself comes over the network only.
func TestTheControllersTables(t *testing.T) {
	a := apisOf(t, &controllerRole{node: new(ctrlnode.Node)})
	const envelope = 58
	inside, outside := keysOf(a.active), keysOf(a.onController())
	if slices.Contains(inside, envelope) {
		t.Error("an Envelope may hold an Envelope")
	}
	if want := slices.Sorted(slices.Values(append(inside, envelope))); !slices.Equal(outside, want) {
		t.Errorf("outside %v, inside %v", outside, inside)
	}
}

// "On a node without that role it only says what can be forwarded."
func TestABrokerKnowsWhatCanBeForwarded(t *testing.T) {
	a := apisOf(t, nil)
	if a.active != nil {
		t.Error("a broker serves as the active controller")
	}
	const createTopics = 19
	if !slices.ContainsFunc(a.control, func(r api.Route) bool { return r.Key == createTopics && r.Forwarded }) {
		t.Error("CreateTopics cannot be forwarded")
	}
}
