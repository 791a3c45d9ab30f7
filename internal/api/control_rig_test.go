package api

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// controlRig is an active controller whose log commits when commit is called,
// and the table of its listener. It is the View of what is committed.
type controlRig struct {
	loggers *metrics.Levels
	t       testing.TB
	node    *ctrlnode.Node
	table   *Table
	static  *config.Config

	mu      sync.Mutex
	end     kafka.Offset
	pending [][]byte
	img     *image.Image
}

func (q *controlRig) Append(_ kafka.Epoch, framed [][]byte) (kafka.Offset, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = append(q.pending, framed...)
	q.end += kafka.Offset(len(framed))
	return q.end, nil
}

func (q *controlRig) LogEnd() kafka.Offset {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end
}

func (q *controlRig) Resign(kafka.Epoch) {}

func (q *controlRig) Heir() bool { return false }

func (q *controlRig) Bereaved(kafka.Epoch) (kafka.NodeID, bool) { return kafka.NoNode, false }

func (q *controlRig) RaiseLevel(context.Context, kafka.Epoch, int16, bool) error { return nil }

func (q *controlRig) Image() *image.Image {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.img
}

// commit applies what was appended and returns how many records that was.
func (q *controlRig) commit() int {
	q.t.Helper()
	q.mu.Lock()
	var records []metarec.Message
	for _, framed := range q.pending {
		m, _, err := metarec.ReadMetadata(framed)
		if err != nil {
			q.t.Fatal(err)
		}
		records = append(records, m)
	}
	q.pending = nil
	next, _, err := image.Apply(q.img, records)
	if err != nil {
		q.t.Fatal(err)
	}
	q.img = next
	end := q.end
	q.mu.Unlock()
	q.node.Applied(end)
	return len(records)
}

// newControlRig is an active controller with id 1 and one running broker, 2.
func newControlRig(t testing.TB) *controlRig {
	t.Helper()
	static, err := config.New(map[string]string{"log.retention.ms": "1234567"})
	if err != nil {
		t.Fatal(err)
	}
	q := &controlRig{t: t, img: image.Empty(), static: static, loggers: metrics.LevelsOf(slog.New(slog.NewTextHandler(t.Output(), nil)))}
	q.loggers.Part("storage")
	q.node = ctrlnode.New(ctrlnode.Config{
		Self: 1, Quorum: q, Seed: 1, Log: slog.New(slog.DiscardHandler),
		Bootstrap: append(controller.Bootstrap(image.LatestLevel), controller.Versioned{
			Message: &metarec.FeatureLevelRecord{Name: image.ElrVersion, FeatureLevel: 1},
		}),
		Settings: &controller.Settings{
			Node: 1, ClusterID: testCluster, SessionTimeout: time.Hour, AssignmentWait: time.Hour,
			DefaultPartitions: 3, DefaultReplication: 1, MinInsyncReplicas: 1, DeleteTopics: true,
			Supported: image.Replayable(), Keys: NewConfigKeys(static),
			Tokens: controller.TokenSettings{Secret: "sesame", MaxLifetime: 48 * time.Hour, ExpiryTime: time.Hour},
		},
	})
	t.Cleanup(q.node.Stop)
	routes := ControlRoutes(ControlDeps{Controller: q.node, View: q, Self: 2, Static: static, Loggers: q.loggers, Log: slog.New(slog.DiscardHandler)})
	q.table = NewTable(OnController, aboutOf(q), append(routes, ConfigRoutes(ConfigJudge{Self: 2, View: q, Static: static, Loggers: q.loggers})...))
	q.node.Leader(1, 5, q.img)
	q.commit()
	q.join(2)
	return q
}

// join registers a broker and unfences it.
func (q *controlRig) join(id int32) {
	q.t.Helper()
	r := registerRequest(id)
	registered := submit[*kmsg.BrokerRegistrationResponse](q, 4, r)
	b := kmsg.NewPtrBrokerHeartbeatRequest()
	b.BrokerID, b.BrokerEpoch, b.CurrentMetadataOffset = id, registered.BrokerEpoch, int64(q.Image().NextOffset())
	if beaten := submit[*kmsg.BrokerHeartbeatResponse](q, 2, b); beaten.IsFenced || !beaten.IsCaughtUp {
		q.t.Fatalf("broker %d: %+v", id, beaten)
	}
}

func registerRequest(id int32) *kmsg.BrokerRegistrationRequest {
	r := kmsg.NewPtrBrokerRegistrationRequest()
	r.BrokerID, r.ClusterID, r.IncarnationID, r.LogDirs = id, testCluster, [16]byte{1, byte(id)}, [][16]byte{{2, byte(id)}}
	r.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: "PLAINTEXT", Host: "h", Port: 9092}}
	r.Features = []kmsg.BrokerRegistrationRequestFeature{
		{Name: image.MetadataVersion, MinSupportedVersion: 7, MaxSupportedVersion: 33}, {Name: image.ElrVersion, MaxSupportedVersion: 1},
	}
	return r
}

// submit asks the controller and commits what it wrote. It also checks that the
// answer can be encoded at its version and that no answer comes before the
// commit.
func submit[R kmsg.Response](q *controlRig, version int16, req kmsg.Request) R {
	q.t.Helper()
	req.SetVersion(version)
	service, ok := q.table.Find(req.Key(), version)
	if !ok {
		q.t.Fatalf("%T version %d is not served", req, version)
	}
	var got kmsg.Response
	service.Handler(&transport.Request{
		Key: req.Key(), Version: version, Body: req, Ctx: q.t.Context(), Conn: &transport.ConnInfo{Listener: "CONTROLLER"},
	}, func(r transport.Reply) { got, _ = r.Message() })
	q.mu.Lock()
	early := got != nil && len(q.pending) > 0
	q.mu.Unlock()
	if early {
		q.t.Errorf("%T was answered before its records were committed", req)
	}
	q.commit()
	resp, ok := got.(R)
	if !ok {
		q.t.Fatalf("answered %T", got)
	}
	return readBack(q.t, resp)
}
