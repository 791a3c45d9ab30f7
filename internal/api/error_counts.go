package api

import (
	"reflect"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
)

// ErrorCounts counts error codes, NONE among them. The zero value is ready.
type ErrorCounts struct {
	none metrics.Count

	mu    sync.Mutex
	other map[kerr.Code]int
}

// Add counts one code.
func (c *ErrorCounts) Add(code kerr.Code) {
	if code == kerr.None {
		c.none.Add(1)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.other == nil {
		c.other = map[kerr.Code]int{}
	}
	c.other[code]++
}

// Each tells all codes that were counted, in no order.
func (c *ErrorCounts) Each(tell func(code kerr.Code, n float64)) {
	if n := c.none.Value(); n > 0 {
		tell(kerr.None, n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for code, n := range c.other {
		tell(code, float64(n))
	}
}

// AddAll counts all codes that an answer holds, of the request as a whole and of
// everything in it.
func (c *ErrorCounts) AddAll(m kmsg.Response) {
	m, err := opened(m)
	if err != nil {
		return // the client will find out
	}
	v := reflect.ValueOf(m).Elem()
	c.walk(v, codesIn(v.Type()))
}

func (c *ErrorCounts) walk(v reflect.Value, at *codes) {
	if at.own >= 0 {
		c.Add(kerr.Code(v.Field(at.own).Int()))
	}
	for _, below := range at.lists {
		list := v.Field(below.field)
		for i := range list.Len() {
			c.walk(list.Index(i), below.codes)
		}
	}
}

// holds tells whether an answer holds a code anywhere.
func holds(m kmsg.Response, code kerr.Code) bool {
	v := reflect.ValueOf(m).Elem()
	return codesIn(v.Type()).hold(v, code)
}

func (at *codes) hold(v reflect.Value, code kerr.Code) bool {
	if at.own >= 0 && kerr.Code(v.Field(at.own).Int()) == code {
		return true
	}
	for _, below := range at.lists {
		list := v.Field(below.field)
		for i := range list.Len() {
			if below.codes.hold(list.Index(i), code) {
				return true
			}
		}
	}
	return false
}

// codes is where the error codes of a struct are.
type codes struct {
	own   int // the field ErrorCode; -1: none
	lists []codesBelow
}

type codesBelow struct {
	field int
	codes *codes
}

// knownCodes caches codesIn by type; there are as many as response types.
var knownCodes sync.Map

func codesIn(t reflect.Type) *codes {
	if at, ok := knownCodes.Load(t); ok {
		return at.(*codes)
	}
	at := findCodes(t)
	knownCodes.Store(t, at)
	return at
}

func findCodes(t reflect.Type) *codes {
	at := &codes{own: -1}
	for i := range t.NumField() {
		switch f := t.Field(i); {
		case f.Name == "ErrorCode":
			at.own = i
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			if below := findCodes(f.Type.Elem()); below.own >= 0 || len(below.lists) > 0 {
				at.lists = append(at.lists, codesBelow{i, below})
			}
		}
	}
	return at
}
