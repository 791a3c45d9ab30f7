package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Kind says how a family behaves.
type Kind uint8

// The kinds of families.
const (
	Gauge   Kind = iota // goes up and down
	Counter             // only grows
	Summary             // quantiles, and counters with _count and _sum behind the name
)

var kindNames = [...]string{"gauge", "counter", "summary"}

func (k Kind) String() string { return kindNames[k] }

// Family describes the metrics of one name.
type Family struct {
	Name, Help string
	Kind       Kind
	Labels     []string
}

// Report takes one value of a family with the values of its labels: all of
// them, or none for the sum over all.
type Report func(value float64, labels ...string)

// Reading is a family whose values are read from a T when somebody looks. One of
// its functions is set.
type Reading[T any] struct {
	Name, Help string
	Kind       Kind
	Labels     string // names, with commas between them

	// One gives the value of a family that has one.
	One func(T) float64
	// Each reports all values.
	Each func(T, Report)
	// Timings and Sizes report the distributions of a Summary.
	Timings func(T, func(d *Timing, labels ...string))
	Sizes   func(T, func(d *Distribution, labels ...string))
}

// Watch registers readings. For each look take is called once and all readings
// get what it gave, so that they belong together; it is called from any
// goroutine. A name that is taken is a mistake of the program: it panics.
func Watch[T any](r *Registry, take func() T, readings ...Reading[T]) {
	families := make([]described, len(readings))
	for i, read := range readings {
		f := Family{Name: read.Name, Help: read.Help, Kind: read.Kind}
		if read.Labels != "" {
			f.Labels = strings.Split(read.Labels, ",")
		}
		families[i] = r.describe(f)
	}
	r.prom.MustRegister(collector(func(ch chan<- prometheus.Metric) {
		now, state := time.Now(), take()
		for i, read := range readings {
			read.send(state, &families[i], look{ch, now})
		}
	}))
}

func (read Reading[T]) send(state T, f *described, l look) {
	switch {
	case read.One != nil:
		l.value(f, read.One(state))
	case read.Each != nil:
		read.Each(state, func(v float64, labels ...string) { l.value(f, v, labels...) })
	case read.Timings != nil:
		read.Timings(state, func(d *Timing, labels ...string) { l.spread(f, &d.Distribution, timingScale, labels) })
	case read.Sizes != nil:
		read.Sizes(state, func(d *Distribution, labels ...string) { l.spread(f, d, 1, labels) })
	}
}

// collector is an unchecked one: Prometheus' client learns of its metrics when
// it collects them, because a family may come with and without labels.
type collector func(chan<- prometheus.Metric)

// Describe implements prometheus.Collector.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) { c(ch) }

// described is a family with what Prometheus' client wants to know of it.
type described struct {
	Family
	labelled, bare *prometheus.Desc
	count, sum     *prometheus.Desc // of a Summary
}

func newDescribed(f Family) described {
	d := described{Family: f}
	if f.Kind != Summary {
		d.labelled, d.bare = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil), prometheus.NewDesc(f.Name, f.Help, nil, nil)
		return d
	}
	d.labelled = prometheus.NewDesc(f.Name, f.Help, append(f.Labels[:len(f.Labels):len(f.Labels)], "quantile"), nil)
	d.count = prometheus.NewDesc(f.Name+"_count", f.Help+" How many.", f.Labels, nil)
	d.sum = prometheus.NewDesc(f.Name+"_sum", f.Help+" In total.", f.Labels, nil)
	return d
}

// look is one answer to somebody who looks.
type look struct {
	ch  chan<- prometheus.Metric
	now time.Time
}

func (l look) value(f *described, v float64, labels ...string) {
	kind, desc := prometheus.GaugeValue, f.labelled
	if f.Kind == Counter {
		kind = prometheus.CounterValue
	}
	if len(labels) == 0 {
		desc = f.bare
	}
	l.ch <- prometheus.MustNewConstMetric(desc, kind, v, labels...)
}

// What a Summary shows, as the JMX exporter writes Kafka's histograms: gauges
// with a label that Prometheus' own summaries would write as 0.5.
var (
	quantiles     = []float64{0.5, 0.75, 0.95, 0.98, 0.99, 0.999}
	quantileNames = []string{"0.50", "0.75", "0.95", "0.98", "0.99", "0.999"}
)

func (l look) spread(f *described, d *Distribution, scale float64, labels []string) {
	v := d.look(l.now, quantiles)
	for i, name := range quantileNames {
		with := append(labels[:len(labels):len(labels)], name)
		l.ch <- prometheus.MustNewConstMetric(f.labelled, prometheus.GaugeValue, v.quantiles[i]*scale, with...)
	}
	l.ch <- prometheus.MustNewConstMetric(f.count, prometheus.CounterValue, float64(v.count), labels...)
	l.ch <- prometheus.MustNewConstMetric(f.sum, prometheus.CounterValue, float64(v.sum)*scale, labels...)
}

// GaugeFunc registers one value that is read when somebody looks.
func (r *Registry) GaugeFunc(name, help string, read func() float64) {
	Watch(r, read, Reading[float64]{Name: name, Help: help, One: itself})
}

// CounterFunc is GaugeFunc for a value that only grows.
func (r *Registry) CounterFunc(name, help string, read func() float64) {
	Watch(r, read, Reading[float64]{Name: name, Help: help, Kind: Counter, One: itself})
}
