package metrics

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

type sample struct {
	Bytes  Counter    `name:"kafka_log_bytesin" help:"Bytes appended."`
	Size   Gauge      `name:"kafka_log_size" help:"Bytes kept."`
	Time   Histogram  `name:"kafka_log_flush_seconds" help:"Time of a sync."`
	Errors CounterVec `name:"kafka_errors" help:"Errors by code." labels:"api,code"`
}

// Rule: one struct names the metrics of a package; all of them are served with
// their help, beside functions read at the moment of the look.
func TestExposition(t *testing.T) {
	r := New()
	var m sample
	r.Register(&m)
	r.GaugeFunc("kafka_leadercount", "Leaders here.", func() float64 { return 7 })
	m.Bytes.Add(5)
	m.Size.Set(3)
	m.Time.Observe(0.001)
	m.Errors.WithLabelValues("Produce", "2").Inc()

	ready := errors.New("still loading logs")
	server := Server(r, func() error { return ready })
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	_, text := get("/metrics")
	for _, want := range []string{
		"# HELP kafka_log_bytesin Bytes appended.\n# TYPE kafka_log_bytesin counter\nkafka_log_bytesin 5\n",
		"kafka_log_size 3\n", "kafka_log_flush_seconds_count 1\n", `kafka_errors{api="Produce",code="2"} 1`, "kafka_leadercount 7\n", "go_goroutines",
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
		A Counter `name:"a"`
	}{})
	f("no labels", &struct {
		A CounterVec `name:"a" help:"A."`
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
