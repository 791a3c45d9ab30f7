package disks

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/itest"
)

// KIP-858, S1: a registration that names no online directory is invalid. The same one
// with a directory is taken.
func TestKIP858_S1_RegistrationWithoutDirectory(t *testing.T) {
	t.Parallel()
	c := start(t, "4.4-IV2", 0, "")
	active, _, _ := c.quorum(t)
	f := func(want error, dirs ...kafka.DirID) {
		t.Helper()
		var got error
		itest.Eventually(t, func() error { // who leads is not active yet
			if got = kerr.ErrorForCode(active.register(t, 9, dirs)); got == kerr.NotController {
				return got
			}
			return nil
		})
		if got != want {
			t.Errorf("a registration with directories %v is answered with %v, want %v", dirs, got, want)
		}
	}
	f(kerr.InvalidRequest)
	f(nil, kafka.DirID{1, 2, 3})
}

// register asks a controller to register a broker.
func (n *node) register(t *testing.T, broker kafka.NodeID, dirs []kafka.DirID) (code int16) {
	t.Helper()
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.BrokerID, req.ClusterID, req.IncarnationID = int32(broker), clusterID, kafka.UUID{byte(broker)}
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", "127.0.0.1", 9
	req.Listeners = append(req.Listeners, l)
	for _, r := range image.Served() {
		feature := kmsg.NewBrokerRegistrationRequestFeature()
		feature.Name, feature.MinSupportedVersion, feature.MaxSupportedVersion = r.Name, r.Min, r.Max
		req.Features = append(req.Features, feature)
	}
	for _, dir := range dirs {
		req.LogDirs = append(req.LogDirs, dir)
	}
	got, err := n.client(t).SeedBrokers()[0].Request(patience(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*kmsg.BrokerRegistrationResponse).ErrorCode
}
