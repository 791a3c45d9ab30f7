package controller

import (
	"math/rand/v2"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/pmap"
	"github.com/ottla/ottla/internal/core/image"
)

// placer spreads replicas over racks and brokers, as Kafka's striped placer
// does: every partition begins one rack and one broker further than the one
// before it, the leader is unfenced, and after a full round all is shuffled so
// that followers do not go in fixed pairs.
type placer struct {
	racks    []*rack
	usable   int // brokers in all racks
	unfenced int
	offset   int // of the rack that the next leader comes from
	round    int // partitions placed since the last shuffle
	random   *rand.Rand
}

// rack holds the brokers of one rack; no rack is a rack too.
type rack struct {
	unfenced, fenced ring
}

// ring hands out its brokers once each, beginning at start.
type ring struct {
	ids   []kafka.NodeID
	start int
	taken int
}

func (r *ring) next() (kafka.NodeID, bool) {
	if r.taken == len(r.ids) {
		return kafka.NoNode, false
	}
	id := r.ids[(r.start+r.taken)%len(r.ids)]
	r.taken++
	return id, true
}

// again begins anew, one broker further.
func (r *ring) again() {
	r.taken = 0
	if len(r.ids) > 0 {
		r.start = (r.start + 1) % len(r.ids)
	}
}

func (r *ring) shuffle(random *rand.Rand) {
	random.Shuffle(len(r.ids), func(i, j int) { r.ids[i], r.ids[j] = r.ids[j], r.ids[i] })
}

// newPlacer begins to place replicas on the usable brokers of an image.
func newPlacer(img *image.Image, random *rand.Rand) *placer {
	p := &placer{random: random}
	byName := pmap.Ordered[string, *rack]().Edit()
	for b := range img.Usable() {
		// A rack's name may be empty; the prefix keeps it apart from no rack.
		name := ""
		if b.Rack != nil {
			name = "=" + *b.Rack
		}
		in, ok := byName.Get(name)
		if !ok {
			in = &rack{}
			byName.Set(name, in)
		}
		p.usable++
		if b.Fenced {
			in.fenced.ids = append(in.fenced.ids, b.ID)
		} else {
			in.unfenced.ids = append(in.unfenced.ids, b.ID)
			p.unfenced++
		}
	}
	for _, r := range byName.Done().All() {
		p.racks = append(p.racks, r)
		r.unfenced.start = begin(random, len(r.unfenced.ids))
		r.fenced.start = begin(random, len(r.fenced.ids))
	}
	p.offset = begin(random, len(p.racks))
	return p
}

func begin(random *rand.Rand, n int) int {
	if n == 0 {
		return 0
	}
	return random.IntN(n)
}

// check tells whether so many replicas can be placed.
func (p *placer) check(replicas int) error {
	switch {
	case p.usable < replicas:
		return kerr.Errorf(kerr.InvalidReplicationFactor,
			"replication factor %d cannot be reached: only %d brokers can take replicas", replicas, p.usable)
	case p.unfenced == 0:
		return kerr.Errorf(kerr.InvalidReplicationFactor,
			"replication factor %d cannot be reached: all %d brokers are fenced", replicas, p.usable)
	}
	return nil
}

// place picks the brokers of one partition; check must have allowed it.
func (p *placer) place(replicas int) []kafka.NodeID {
	picked := make([]kafka.NodeID, 0, replicas)
	at := p.offset
	for range p.racks {
		if id, ok := p.racks[at].unfenced.next(); ok {
			picked = append(picked, id)
			break
		}
		at = (at + 1) % len(p.racks)
	}
	for len(picked) < replicas {
		at = (at + 1) % len(p.racks)
		r := p.racks[at]
		id, ok := r.unfenced.next()
		if !ok {
			id, ok = r.fenced.next()
		}
		if ok {
			picked = append(picked, id)
		}
	}
	p.advance()
	return picked
}

func (p *placer) advance() {
	p.offset = (p.offset + 1) % len(p.racks)
	for _, r := range p.racks {
		r.unfenced.again()
		r.fenced.again()
	}
	if p.round++; p.round < p.unfenced || p.unfenced < 2 {
		return
	}
	p.round = 0
	p.random.Shuffle(len(p.racks), func(i, j int) { p.racks[i], p.racks[j] = p.racks[j], p.racks[i] })
	for _, r := range p.racks {
		r.unfenced.shuffle(p.random)
		r.fenced.shuffle(p.random)
	}
}

// checkAssignment tells why replicas that a client named for a new partition
// cannot be. The wanted number is that of the topic's other partitions, 0 for
// the first one.
func checkAssignment(img *image.Image, replicas []kafka.NodeID, wanted int) error {
	if err := checkReplicas(img, replicas); err != nil {
		return err
	}
	if wanted > 0 && len(replicas) != wanted {
		return kerr.Errorf(kerr.InvalidReplicaAssignment,
			"the manual partition assignment includes a partition with %d replicas, but others have %d", len(replicas), wanted)
	}
	if !slices.ContainsFunc(replicas, img.Active) {
		return kerr.Errorf(kerr.InvalidReplicaAssignment,
			"all %d brokers of the manual partition assignment are fenced or in controlled shutdown", len(replicas))
	}
	return nil
}

// checkReplicas tells why brokers cannot be the replicas of a partition. Fenced
// ones can.
func checkReplicas(img *image.Image, replicas []kafka.NodeID) error {
	if len(replicas) == 0 {
		return kerr.Errorf(kerr.InvalidReplicaAssignment, "the manual partition assignment includes an empty replica list")
	}
	for i, id := range replicas {
		b, registered := img.Broker(id)
		switch {
		case slices.Contains(replicas[:i], id):
			return kerr.Errorf(kerr.InvalidReplicaAssignment, "the manual partition assignment includes broker %d more than once", id)
		case !registered:
			return kerr.Errorf(kerr.InvalidReplicaAssignment, "the manual partition assignment includes broker %d, but no such broker is registered", id)
		case b.AllCordoned():
			return kerr.Errorf(kerr.InvalidReplicaAssignment, "the manual partition assignment includes broker %d, whose log directories are all cordoned", id)
		}
	}
	return nil
}
