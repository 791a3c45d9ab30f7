package group

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// member is a client in a group.
type member struct {
	id, instance         string
	clientID, clientHost string
	sessionTimeout       time.Duration
	rebalanceTimeout     time.Duration
	protocols            []Protocol
	assignment           []byte

	// fresh is a member that has not completed a join: it does not know its
	// id yet unless it brought one, and may be gone without a trace.
	fresh bool
	// unsynced is set between the end of a join and the member's Sync.
	unsynced bool
	join     *Join // parked
	sync     *Sync // parked

	// Invariant: while the member is in the group its session runs, or it
	// waits in join or sync, which holds its session open.
	session session
	place   // among the members
}

func (m *member) static() bool { return m.instance != "" }

// metadata is what the member says for a protocol.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// heard starts the member's session anew.
func (m *member) heard(d *desk) { m.session.expect(d, m.sessionTimeout) }

// refuseSync answers a parked sync with an error, and tells whether there was
// one.
func (m *member) refuseSync(d *desk, err kerr.Code) bool {
	r := m.sync
	if r == nil {
		return false
	}
	m.sync = nil
	d.answer(r, err)
	return true
}

// session is how long a member may be silent.
type session struct {
	// expires is when it ends.
	// Invariant: a timer that is set is set no later than this.
	expires kafka.Instant
	timer
}

// expect gives the member until then to be heard of again.
func (s *session) expect(d *desk, within time.Duration) {
	s.expires = d.now.At.Add(within)
	if s.pos == 0 || s.at > s.expires {
		d.timers.set(&s.timer, s.expires)
	}
}

// goesOn tells, when the timer has fired, whether the session was renewed since
// the timer was set, and sets it anew.
func (s *session) goesOn(d *desk) bool {
	if s.expires <= d.now.At {
		return false
	}
	d.timers.set(&s.timer, s.expires)
	return true
}
