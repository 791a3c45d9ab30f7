package explore

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
)

// print128 is a fingerprint of a state. The zero value marks an empty place.
type print128 struct{ a, b uint64 }

// fingerprint mixes the bytes of a state, eight at a time, into two halves that
// have nothing in common but the input. Two different states have the same one
// with a chance of about 2^-128, so that n states are n of which two were taken
// for one with n*n / 2^129: for 60 million that is 5 in 10^24. (With 64 bits it
// would be one in ten thousand, in every such search.)
func fingerprint(state []byte) print128 {
	p := print128{uint64(len(state)) * golden, ^uint64(len(state))}
	for len(state) >= 8 {
		p.add(binary.LittleEndian.Uint64(state))
		state = state[8:]
	}
	var rest [8]byte
	copy(rest[:], state)
	p.add(binary.LittleEndian.Uint64(rest[:]))
	if p == (print128{}) {
		p.a = 1
	}
	return p
}

const golden = 0x9e3779b97f4a7c15

func (p *print128) add(word uint64) {
	p.a = mix(p.a ^ word)
	high, low := bits.Mul64(p.b^word^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	p.b = mix(high ^ low ^ p.b)
}

// mix is the finalizer of splitmix64 after a multiplication: each bit of the
// input changes half of the output.
func mix(h uint64) uint64 {
	h *= golden
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// link tells how a state was first reached: from none, if it is the first.
type link struct{ parent, step uint32 }

const none = ^uint32(0)

// seen are the states visited so far: of each its fingerprint and its link, some
// 40 bytes. It is cut in shards, so that processors seldom wait for each other.
type seen struct {
	count  atomic.Int64
	shards [shards]shard
}

// shards is how many there are; a state's number is its place in the links of
// its shard, times shards, plus the shard.
const shards = 64

// shard is an open-addressed set of fingerprints.
type shard struct {
	mu     sync.Mutex
	places []print128
	links  []link
	_      [64]byte // keeps the locks of two shards on two cache lines
}

func newSeen() *seen {
	s := new(seen)
	for i := range s.shards {
		s.shards[i].places = make([]print128, 1<<6)
	}
	return s
}

func (s *seen) len() int { return int(s.count.Load()) }

// add tells whether a fingerprint is new, and if so keeps it and gives it a
// number.
func (s *seen) add(p print128, l link) (number uint32, isNew bool) {
	which := uint32(p.b >> 58)
	d := &s.shards[which]
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.links)*4 > len(d.places)*3 {
		d.grow()
	}
	if !d.put(p) {
		return 0, false
	}
	number = uint32(len(d.links))*shards + which
	d.links = append(d.links, l)
	s.count.Add(1)
	return number, true
}

func (s *seen) link(number uint32) link { return s.shards[number%shards].links[number/shards] }

func (d *shard) put(p print128) bool {
	mask := uint64(len(d.places) - 1)
	for i := p.a & mask; ; i = (i + 1) & mask {
		switch d.places[i] {
		case print128{}:
			d.places[i] = p
			return true
		case p:
			return false
		}
	}
}

func (d *shard) grow() {
	old := d.places
	d.places = make([]print128, 2*len(old))
	for _, p := range old {
		if p != (print128{}) {
			d.put(p)
		}
	}
}
