package metrics

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Registry holds the metrics of one node.
type Registry struct {
	prom     *prometheus.Registry
	families []Family
	taken    map[string]bool
	runtime  sync.Once // see Handler
}

// New makes an empty registry.
func New() *Registry {
	return &Registry{prom: prometheus.NewRegistry(), taken: map[string]bool{}}
}

// Families are all that were registered, in order; those of the runtime and the
// process are not among them.
func (r *Registry) Families() []Family { return slices.Clone(r.families) }

// Register shows the fields of a package's struct of metrics. m points to a
// struct whose fields are of type Count, Level, Timing or Distribution and carry
// the tags `name:"..." help:"..."`. Tags that are missing, and a name that is
// taken, are mistakes of the program: they panic.
//
//	type Metrics struct {
//		Bytes metrics.Count `name:"kafka_log_bytesin_total" help:"Bytes appended to logs."`
//	}
func (r *Registry) Register(m any) {
	fields := reflect.ValueOf(m).Elem()
	for i := range fields.NumField() {
		r.field(fields.Type(), fields.Type().Field(i), fields.Field(i).Addr().Interface())
	}
}

func (r *Registry) field(of reflect.Type, field reflect.StructField, at any) {
	name, help := field.Tag.Get("name"), field.Tag.Get("help")
	if name == "" || help == "" {
		panic(fmt.Sprintf("metrics: %s.%s has no name or no help", of, field.Name))
	}
	switch m := at.(type) {
	case *Count:
		Watch(r, m.Value, Reading[float64]{Name: name, Help: help, Kind: Counter, One: itself})
	case *Level:
		Watch(r, m.Value, Reading[float64]{Name: name, Help: help, One: itself})
	case *Timing:
		Watch(r, func() *Timing { return m }, Reading[*Timing]{Name: name, Help: help, Kind: Summary,
			Timings: func(t *Timing, report func(*Timing, ...string)) { report(t) }})
	case *Distribution:
		Watch(r, func() *Distribution { return m }, Reading[*Distribution]{Name: name, Help: help, Kind: Summary,
			Sizes: func(d *Distribution, report func(*Distribution, ...string)) { report(d) }})
	default:
		panic(fmt.Sprintf("metrics: %s.%s is of type %s, which is no kind of metric", of, field.Name, field.Type))
	}
}

func itself(v float64) float64 { return v }

// describe notes a family.
func (r *Registry) describe(f Family) described {
	if r.taken[f.Name] {
		panic(fmt.Sprintf("metrics: the name %s is taken", f.Name))
	}
	r.taken[f.Name] = true
	r.families = append(r.families, f)
	return newDescribed(f)
}
