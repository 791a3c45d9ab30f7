package processes

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// page are the metrics of one node, by name with labels.
type page map[string]float64

func scrape(t *testing.T, addr string) (page, error) {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	p := page{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if p[line[:end]], err = strconv.ParseFloat(line[end+1:], 64); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return p, nil
}

// sum adds up a metric over nodes; a star at the end stands for all labels.
func sum(pages []page, name string) (total float64, series int) {
	family, all := strings.CutSuffix(name, "*")
	for _, p := range pages {
		for key, v := range p {
			if key == name || all && strings.HasPrefix(key, family+"{") {
				total += v
				series++
			}
		}
	}
	return total, series
}

// The metrics of three nodes, under Kafka's names, tell one story: one leads the
// quorum, two follow it, and every partition has two replicas that lack nothing.
func TestAClusterShowsItsQuorumAndItsReplication(t *testing.T) {
	t.Parallel()
	first := itest.FreePorts(t, 3)
	d := itest.ThreeNodes.StartDev(t, "--metrics", fmt.Sprintf("127.0.0.1:%d", first))
	create(t, d.Addr, "t", 3, nil)
	itest.Ottla(t, lines(numbered("v", 300)), "produce", "--topic", "t", "--bootstrap-server", d.Addr)
	itest.Eventually(t, func() error {
		pages := make([]page, 3)
		for i := range pages {
			var err error
			if pages[i], err = scrape(t, fmt.Sprintf("127.0.0.1:%d", first+i)); err != nil {
				return err
			}
		}
		var wrong []error
		f := func(name string, want float64) {
			if got, series := sum(pages, name); got != want {
				wrong = append(wrong, fmt.Errorf("%s adds up to %g in %d series, want %g", name, got, series, want))
			}
		}
		f("kafka_controller_kafkacontroller_activecontrollercount", 1)
		f(`kafka_server_raft_metrics_current_state{current_state="leader"}`, 1)
		f(`kafka_server_raft_metrics_current_state{current_state="follower"}`, 2)
		f("kafka_server_raft_metrics_number_of_voters", 9)
		f("kafka_server_raft_metrics_number_of_observers", 0)
		f("kafka_controller_kafkacontroller_activebrokercount", 9)
		f("kafka_server_replicamanager_partitioncount", 9)
		f("kafka_server_replicamanager_leadercount", 3)
		f("kafka_server_replicamanager_underreplicatedpartitions", 0)
		f("kafka_cluster_partition_insyncreplicascount*", 9)
		f("kafka_server_fetcherlagmetrics_consumerlag*", 0)
		f("kafka_server_replicafetchermanager_maxlag", 0)
		f("kafka_server_brokertopicmetrics_messagesin_total", 300)
		if _, series := sum(pages, "kafka_server_fetcherlagmetrics_consumerlag*"); series != 6 {
			wrong = append(wrong, fmt.Errorf("%d replicas that follow show their lag, want 6", series))
		}
		leader := pages[0]["kafka_server_raft_metrics_current_leader"]
		if leader < 1 {
			wrong = append(wrong, fmt.Errorf("the leader is %g", leader))
		}
		f("kafka_server_raft_metrics_current_leader", 3*leader)
		f("kafka_server_raft_metrics_current_epoch", 3*pages[0]["kafka_server_raft_metrics_current_epoch"])
		if in, _ := sum(pages, "kafka_server_brokertopicmetrics_replicationbytesin_total"); in == 0 {
			wrong = append(wrong, errors.New("nobody has copied a byte"))
		}
		return errors.Join(wrong...)
	})
}
