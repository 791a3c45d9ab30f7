package metrics

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

type sample struct {
	Bytes Count        `name:"kafka_log_bytesin_total" help:"Bytes appended."`
	Size  Level        `name:"kafka_log_size" help:"Bytes kept."`
	Time  Timing       `name:"kafka_log_flushtimems" help:"Time of a sync."`
	Sizes Distribution `name:"kafka_request_bytes" help:"Bytes of requests."`
}

// Rule: one struct names the metrics of a package; all of them are served with
// their help, beside what is read at the moment of the look.
func TestExposition(t *testing.T) {
	r := New()
	var m sample
	r.Register(&m)
	leaders := map[string]float64{"a": 3, "b": 4}
	Watch(r, func() map[string]float64 { return leaders }, Reading[map[string]float64]{
		Name: "kafka_leadercount", Help: "Leaders here.", Labels: "topic",
		Each: func(l map[string]float64, report Report) {
			report(l["a"] + l["b"])
			report(l["a"], "a")
			report(l["b"], "b")
		},
	})
	m.Bytes.Add(5)
	m.Size.Add(4)
	m.Size.Add(-1)
	m.Time.Saw(3 * time.Millisecond)
	m.Sizes.Observe(2)
	leaders["b"] = 5

	ready := errors.New("still loading logs")
	server := Server(r, func() error { return ready })
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	_, text := get("/metrics")
	for _, want := range []string{
		"# HELP kafka_log_bytesin_total Bytes appended.\n# TYPE kafka_log_bytesin_total counter\nkafka_log_bytesin_total 5\n",
		"# TYPE kafka_log_size gauge\nkafka_log_size 3\n",
		"kafka_log_flushtimems_count 1\n", "kafka_log_flushtimems_sum 3\n", `kafka_request_bytes{quantile="0.50"} 2`,
		"kafka_leadercount 8\n", `kafka_leadercount{topic="a"} 3`, `kafka_leadercount{topic="b"} 5`, "go_goroutines", "process_open_fds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code, text := get("/ready"); code != 503 || text != "not ready: still loading logs\n" {
		t.Errorf("/ready: %d %q", code, text)
	}
	ready = nil
	if code, text := get("/ready"); code != 200 || text != "ready\n" {
		t.Errorf("/ready: %d %q", code, text)
	}
	if _, text := get("/metrics"); !strings.Contains(text, "go_goroutines") {
		t.Error("the second look fails")
	}
}

// Rule: a field without name or help, and a name that is taken, are mistakes
// of the program.
func TestMistakesPanic(t *testing.T) {
	f := func(what string, m any) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s was taken", what)
			}
		}()
		r := New()
		r.Register(m)
		r.Register(m)
	}
	f("no help", &struct {
		A Count `name:"a"`
	}{})
	f("no name", &struct {
		A Count `help:"A."`
	}{})
	f("no metric", &struct {
		A int `name:"a" help:"A."`
	}{})
	f("twice", &sample{})
}

// Rule: below its level nothing is logged, and an unknown level is refused with
// those there are.
func TestLogger(t *testing.T) {
	level, err := ParseLevel("WARN")
	if err != nil || level != slog.LevelWarn {
		t.Fatal(level, err)
	}
	var out bytes.Buffer
	log := NewLogger(&out, level, true)
	log.Info("quiet")
	log.Warn("loud", "n", 1)
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, `"msg":"loud","n":1`) {
		t.Error(got)
	}
	if _, err := ParseLevel("loud"); err == nil || err.Error() != `log level "loud" is not known (allowed: debug, info, warn, error)` {
		t.Error(err)
	}
}
