package metrics

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Registry holds the metrics of one node.
type Registry struct {
	prom *prometheus.Registry
}

// New makes an empty registry.
func New() *Registry { return &Registry{prom: prometheus.NewRegistry()} }

// The kinds of fields that Register fills. They are cheap to count with and
// cost nothing while idle.
type (
	Counter    = prometheus.Counter
	Gauge      = prometheus.Gauge
	Histogram  = prometheus.Histogram
	CounterVec = *prometheus.CounterVec
	GaugeVec   = *prometheus.GaugeVec
)

// Register makes the metrics that a struct's fields name and registers them.
// m is a pointer to a struct whose fields are of the kinds above and carry the
// tags `name:"..." help:"..."`; vectors also `labels:"a,b"`. Tags that are
// missing, and a name that is taken, are mistakes of the program: they panic.
//
//	type appendMetrics struct {
//		Bytes metrics.Counter `name:"kafka_log_bytesin" help:"Bytes appended to logs."`
//	}
//	var m appendMetrics
//	registry.Register(&m)
func (r *Registry) Register(m any) {
	fields := reflect.ValueOf(m).Elem()
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		name, help := field.Tag.Get("name"), field.Tag.Get("help")
		if name == "" || help == "" {
			panic(fmt.Sprintf("metrics: %s.%s has no name or no help", fields.Type(), field.Name))
		}
		collector := collectorFor(field, name, help)
		r.prom.MustRegister(collector)
		fields.Field(i).Set(reflect.ValueOf(collector))
	}
}

func collectorFor(field reflect.StructField, name, help string) prometheus.Collector {
	switch field.Type {
	case reflect.TypeFor[Counter]():
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	case reflect.TypeFor[Gauge]():
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	case reflect.TypeFor[Histogram]():
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: secondsBuckets()})
	case reflect.TypeFor[CounterVec]():
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels(field))
	case reflect.TypeFor[GaugeVec]():
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels(field))
	}
	panic(fmt.Sprintf("metrics: %s is of type %s, which is no kind of metric", field.Name, field.Type))
}

// secondsBuckets spread from 50 microseconds, a request in memory, to 13
// seconds, a disk in trouble, by factors of two.
func secondsBuckets() []float64 { return prometheus.ExponentialBuckets(50e-6, 2, 19) }

func labels(field reflect.StructField) []string {
	text := field.Tag.Get("labels")
	if text == "" {
		panic(fmt.Sprintf("metrics: %s has no labels", field.Name))
	}
	return strings.Split(text, ",")
}

// GaugeFunc registers a gauge whose value is read when somebody looks; read
// must be cheap and safe to call from any goroutine.
func (r *Registry) GaugeFunc(name, help string, read func() float64) {
	r.prom.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// CounterFunc is GaugeFunc for a value that only grows.
func (r *Registry) CounterFunc(name, help string, read func() float64) {
	r.prom.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}
