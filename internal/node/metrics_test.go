package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

func get(ctx context.Context, url string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// scrape reads a page of metrics.
func scrape(t *testing.T, ctx context.Context, addr string) map[string]float64 {
	t.Helper()
	status, body, err := get(ctx, "http://"+addr+"/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err, body)
	}
	page := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		name, value, ok := cutLast(lines.Text())
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if page[name], err = strconv.ParseFloat(value, 64); err != nil {
			t.Fatal(err)
		}
	}
	return page
}

func cutLast(line string) (name, value string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// eventually looks until what is wanted is on the page: some of it is counted
// just after a client has its answer. Values that begin with > are lower bounds.
func eventually(t *testing.T, ctx context.Context, addr string, want map[string]string) {
	t.Helper()
	for {
		page := scrape(t, ctx, addr)
		var missing []string
		for name, value := range want {
			if got, ok := page[name]; !ok || !matches(got, value) {
				missing = append(missing, fmt.Sprintf("%s is %g (there: %v), want %s", name, got, ok, value))
			}
		}
		if len(missing) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(strings.Join(missing, "\n"))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func matches(got float64, want string) bool {
	bound, above := strings.CutPrefix(want, ">")
	v, err := strconv.ParseFloat(bound, 64)
	return err == nil && (above && got > v || !above && got == v)
}

// Rule: what a node did shows under the names that Kafka's dashboards know.
func TestMetricsTellWhatWasDone(t *testing.T) {
	cfg := settings(t, t.TempDir(), "ottla.metrics.listener=127.0.0.1:0")
	formatted(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := startNode(t, cfg)
	small := "500"
	if _, err := kadm.NewClient(connect(t, n.addr)).CreateTopic(ctx, 2, 1, map[string]*string{"max.message.bytes": &small}, "t"); err != nil {
		t.Fatal(err)
	}
	producer := connect(t, n.addr, kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for range 10 {
		if err := producer.ProduceSync(ctx, kgo.StringRecord("hello")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := producer.ProduceSync(ctx, kgo.StringRecord(strings.Repeat("x", 1000))).FirstErr(); err == nil {
		t.Fatal("a record of 1000 bytes was taken")
	}
	consumer := connect(t, n.addr, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	for read := 0; read < 10; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		read += fetches.NumRecords()
	}
	if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, ctx, n.metrics, map[string]string{
		"kafka_server_kafkaserver_brokerstate":                                                   "3",
		"kafka_server_raft_metrics_poll_idle_ratio_avg":                                          ">0",
		"kafka_server_raft_metrics_uncommitted_voter_change":                                     "0",
		"kafka_server_broker_metadata_metrics_ignored_static_voters":                             "0",
		"kafka_server_broker_metadata_metrics_metadata_load_error_count":                         "0",
		"kafka_server_broker_metadata_metrics_metadata_apply_error_count":                        "0",
		"kafka_server_snapshotemitter_latestsnapshotgeneratedagems":                              ">0",
		"kafka_server_snapshotemitter_latestsnapshotgeneratedbytes":                              "0",
		"kafka_server_metadataloader_handleloadsnapshotcount":                                    "0",
		`kafka_controller_kafkacontroller_timesincelastheartbeatreceivedms{broker="1"}`:          ">-1",
		"kafka_controller_kafkacontroller_timedoutbrokerheartbeatcount":                          "0",
		`kafka_server_brokertopicmetrics_messagesin_total{topic="t"}`:                            "10",
		"kafka_server_brokertopicmetrics_messagesin_total":                                       ">10", // the commit, too
		`kafka_server_brokertopicmetrics_bytesin_total{topic="t"}`:                               ">600",
		`kafka_server_brokertopicmetrics_bytesout_total{topic="t"}`:                              ">600",
		`kafka_server_brokertopicmetrics_bytesrejected_total{topic="t"}`:                         ">1000",
		`kafka_server_brokertopicmetrics_totalproducerequests_total{topic="t"}`:                  "11",
		`kafka_server_brokertopicmetrics_failedproducerequests_total{topic="t"}`:                 "0",
		`kafka_server_brokertopicmetrics_failedfetchrequests_total`:                              "0",
		"kafka_server_replicamanager_partitioncount":                                             "6",
		"kafka_server_replicamanager_leadercount":                                                "6",
		"kafka_server_replicamanager_underreplicatedpartitions":                                  "0",
		"kafka_server_replicamanager_underminisrpartitioncount":                                  "0",
		"kafka_server_replicamanager_offlinereplicacount":                                        "0",
		"kafka_server_replicamanager_produceridcount":                                            "1",
		"kafka_server_replicamanager_isrshrinks_total":                                           "0",
		`kafka_cluster_partition_underreplicated{partition="0",topic="t"}`:                       "0",
		`kafka_log_log_logendoffset{partition="0",topic="t"}`:                                    "10",
		`kafka_log_log_size{partition="0",topic="t"}`:                                            ">600",
		"kafka_log_logmanager_offlinelogdirectorycount":                                          "0",
		`ottla_log_directory_usable_bytes{logDirectory="` + cfg.Node().LogDirs[0] + `"}`:         ">0",
		`kafka_network_requestmetrics_errors_total{error="MESSAGE_TOO_LARGE",request="Produce"}`: "1",
		`kafka_network_requestmetrics_errors_total{error="NONE",request="Produce"}`:              "10",
		`kafka_network_requestmetrics_errors_total{error="NONE",request="Fetch"}`:                ">0",
		`kafka_network_requestmetrics_totaltimems_count{request="Produce"}`:                      "11",
		`kafka_network_requestmetrics_totaltimems{quantile="0.99",request="Produce"}`:            ">0",
		`kafka_network_requestmetrics_totaltimems_count{request="FetchConsumer"}`:                ">0",
		`kafka_network_requestmetrics_requestbytes_sum{request="Produce"}`:                       ">1600",
		`kafka_server_socket_server_metrics_connection_count{listener="PLAINTEXT"}`:              ">2",
		"kafka_network_socketserver_memorypoolused":                                              ">-1",
		"kafka_server_fetchsessioncache_numincrementalfetchsessions":                             ">0",
		`kafka_server_delayedoperationpurgatory_purgatorysize{delayedOperation="Fetch"}`:         ">-1",
		"kafka_controller_kafkacontroller_activecontrollercount":                                 "1",
		"kafka_controller_kafkacontroller_globaltopiccount":                                      "2",
		"kafka_controller_kafkacontroller_globalpartitioncount":                                  "6",
		"kafka_controller_kafkacontroller_offlinepartitionscount":                                "0",
		"kafka_controller_kafkacontroller_activebrokercount":                                     "1",
		"kafka_controller_kafkacontroller_fencedbrokercount":                                     "0",
		"kafka_controller_kafkacontroller_lastappliedrecordoffset":                               ">5",
		`kafka_controller_kafkacontroller_brokerregistrationstate{broker="1"}`:                   "30",
		"kafka_controller_controllerstats_uncleanleaderelections_total":                          "0",
		`kafka_server_raft_metrics_current_state{current_state="leader"}`:                        "1",
		"kafka_server_raft_metrics_high_watermark":                                               ">5",
		"kafka_server_raft_metrics_number_of_voters":                                             "1",
		"kafka_server_broker_metadata_metrics_last_applied_record_offset":                        ">5",
		"kafka_server_assignmentsmanager_queuedreplicatodirassignments":                          "0",
		"kafka_server_group_coordinator_metrics_offset_commit_count":                             "1",
		"process_open_fds": ">5",
	})
	if status, _, err := get(ctx, "http://"+n.metrics+"/ready"); err != nil || status != http.StatusOK {
		t.Errorf("/ready: %d, %v", status, err)
	}
}

// Rule: /ready answers 503 until the controller has unfenced the broker; metrics
// can be read meanwhile.
func TestABrokerWithoutAControllerIsNotReady(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	addr := freeAddr(t)
	cfg, _, err := config.Parse("server.properties", []byte(fmt.Sprintf(`process.roles=broker
node.id=2
listeners=PLAINTEXT://127.0.0.1:0
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:1
log.dirs=%s
ottla.metrics.listener=%s
`, filepath.Join(t.TempDir(), "data"), addr)), nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	formatted(t, cfg)
	ended := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() {
		ended <- Run(running, Options{Config: cfg, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	}()
	defer func() {
		stop()
		<-ended
	}()
	for {
		status, body, err := get(ctx, "http://"+addr+"/ready")
		if errors.Is(err, syscall.ECONNREFUSED) {
			continue // not bound yet
		}
		if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(body, "unfenced") {
			t.Fatalf("/ready: %d %q, %v", status, body, err)
		}
		break
	}
	eventually(t, ctx, addr, map[string]string{
		"kafka_server_kafkaserver_brokerstate":            "2",
		"kafka_server_replicamanager_partitioncount":      "0",
		"kafka_server_metadataloader_currentcontrollerid": "-1",
	})
}

// freeAddr is an address that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// Rule: a node that stops is not ready.
func TestReadyFollowsTheState(t *testing.T) {
	w := newWatched("")
	for state, ready := range map[brokerState]bool{starting: false, recovering: false, running: true, leaving: false, stopping: false} {
		w.at(state)
		if err := w.ready(); (err == nil) != ready {
			t.Errorf("state %d: %v", state, err)
		}
	}
	if w.observer() != nil {
		t.Error("without an address requests are observed")
	}
}

// Rule: APIs have Kafka's names.
func TestNamesOfAPIs(t *testing.T) {
	for key, want := range map[int16]string{
		1: "Fetch", 17: "SaslHandshake", 22: "InitProducerId", 29: "DescribeAcls", 50: "DescribeUserScramCredentials", 67: "AllocateProducerIds",
	} {
		if got := apiName(key); got != want {
			t.Errorf("key %d is %s, want %s", key, got, want)
		}
	}
}

// Rule: an election from the ELR is no unclean one, and a leader from the ISR is
// no news.
func TestElectionsAreCounted(t *testing.T) {
	topic := kafka.UUID{1}
	before := imageOf(t, image.Empty(), &metarec.TopicRecord{Name: "t", TopicId: topic}, &metarec.PartitionRecord{
		TopicId: topic, Replicas: []int32{1, 2, 3}, Isr: []int32{1, 2}, EligibleLeaderReplicas: []int32{3}, Leader: 1, Directories: make([]kafka.UUID, 3),
	})
	f := func(leader int32, recovery int8, want string) {
		t.Helper()
		var c changes
		change := metarec.NewPartitionChangeRecord()
		change.TopicId, change.PartitionId, change.Leader, change.LeaderRecoveryState = topic, 0, leader, recovery
		next, delta, err := image.Apply(before, []metarec.Message{change})
		if err != nil {
			t.Fatal(err)
		}
		c.publish(delta, next)
		if got := fmt.Sprintf("unclean=%g eligible=%g", c.Unclean.Value(), c.FromEligible.Value()); got != want {
			t.Errorf("leader %d: %s, want %s", leader, got, want)
		}
	}
	f(2, 0, "unclean=0 eligible=0")
	f(3, 0, "unclean=0 eligible=1")
	f(4, 1, "unclean=1 eligible=0")
	f(-1, 0, "unclean=0 eligible=0")
}

func imageOf(t *testing.T, img *image.Image, records ...metarec.Message) *image.Image {
	t.Helper()
	next, _, err := image.Apply(img, records)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Rule: every family is named once, and has a name and a help that say something.
func TestFamilies(t *testing.T) {
	for _, f := range MetricFamilies() {
		if !strings.HasPrefix(f.Name, "kafka_") && !strings.HasPrefix(f.Name, "ottla_") || len(f.Help) < 10 {
			t.Errorf("%s: %q", f.Name, f.Help)
		}
		if f.Kind == metrics.Counter && f.Name != strings.ToLower(f.Name) {
			t.Errorf("%s is not in lower case", f.Name)
		}
	}
}

// What a request pays for being counted.
func BenchmarkObserver(b *testing.B) {
	q := newRequests(&api.ErrorCounts{})
	fetch := &kmsg.FetchRequest{Version: 17, ReplicaID: -1}
	fetch.ReplicaState.ID = -1
	r := &transport.Request{Key: 1, Version: 17, Body: fetch}
	b.ReportAllocs()
	for b.Loop() {
		q.Request(r, 200, 30*time.Microsecond)
		q.Reply(r, 4096, 50*time.Microsecond)
	}
}

// Rule: static voters are ignored once the log holds the voters (KIP-853).
func TestStaticVotersAreIgnoredOnceTheLogHoldsThem(t *testing.T) {
	f := func(c cluster, want float64) {
		t.Helper()
		if got := c.ignoresStatic(); got != want {
			t.Errorf("static voters set: %v, kraft.version %d: %g", c.static, c.kraft, got)
		}
	}
	f(cluster{static: true, kraft: 0}, 0)
	f(cluster{static: true, kraft: 1}, 1)
	f(cluster{static: false, kraft: 1}, 0)
}
