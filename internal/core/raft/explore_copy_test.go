package raft

import (
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/ottla/ottla/internal/base/kafka"
)

// copyCore makes a second core that goes on by itself. It walks the fields, also
// those that other packages cannot see, so that none is ever forgotten; only the
// configuration is shared.
func copyCore(c *Core) *Core {
	cp := *c
	cp.out = Effects{}
	deepen(reflect.ValueOf(&cp.role).Elem())
	for _, v := range []any{&cp.log, &cp.calls, &cp.longer, &cp.closing} {
		deepen(reflect.ValueOf(v).Elem())
	}
	cp.quorum.log = &cp.log
	return &cp
}

// deepen replaces whatever a copied value still shares with its original.
func deepen(v reflect.Value) {
	if !v.CanSet() {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			deepen(p.Elem())
			v.Set(p)
		}
	case reflect.Interface:
		if !v.IsNil() {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			deepen(inner)
			v.Set(inner)
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(s, v)
		for i := range s.Len() {
			deepen(s.Index(i))
		}
		v.Set(s)
	case reflect.Struct:
		for i := range v.NumField() {
			deepen(v.Field(i))
		}
	}
}

// canon writes values in one way: times relative to now, of which those that have
// passed are all the same, numbers of writes relative to the last one, and no
// numbers of calls.
type canon struct {
	to    []byte
	now   kafka.Instant
	asked Seq
}

func (k *canon) int(i int64) { k.to = binary.AppendVarint(k.to, i) }

func (k *canon) value(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[kafka.Instant]():
		switch at := kafka.Instant(v.Int()); {
		case at == kafka.Never:
			k.int(1 << 40)
		default:
			k.int(max(int64(at-k.now), -1))
		}
		return
	case reflect.TypeFor[Seq]():
		if v.Uint() == 0 {
			k.int(-1)
			return
		}
		k.int(int64(k.asked) - int64(v.Uint()))
		return
	case reflect.TypeFor[Call]():
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			k.int(1)
		} else {
			k.int(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		k.int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		k.int(int64(v.Uint()))
	case reflect.String:
		k.int(int64(v.Len()))
		k.to = append(k.to, v.String()...)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			k.int(0)
			return
		}
		k.int(1)
		if v.Kind() == reflect.Interface {
			name := v.Elem().Type().String()
			k.int(int64(len(name)))
			k.to = append(k.to, name...)
		}
		k.value(v.Elem())
	case reflect.Slice, reflect.Array:
		k.int(int64(v.Len()))
		for i := range v.Len() {
			k.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			k.value(v.Field(i))
		}
	default:
		panic("the explorer has no form for " + v.Type().String())
	}
}

// core writes what decides what a core will do.
func (k *canon) core(c *Core) {
	k.now, k.asked = c.now, c.log.asked
	for _, v := range []any{&c.election, &c.role, &c.log, &c.hw, &c.pace, &c.lost, &c.mourned, &c.longer, &c.silence, &c.closing, &c.installing, &c.dead} {
		k.value(reflect.ValueOf(v).Elem())
	}
	k.int(int64(c.calls.ring))
	for id := range kafka.NodeID(8) {
		if x := c.calls.conn(id); x.call != 0 || x.fresh || x.backoff > c.now {
			k.int(int64(id))
			k.value(reflect.ValueOf(*x))
			k.value(reflect.ValueOf(x.call != 0))
		}
	}
	k.int(-1)
}
