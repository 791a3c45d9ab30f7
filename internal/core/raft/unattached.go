package raft

import "github.com/ottla/ottla/internal/base/kafka"

// unattached follows nobody: it knows no leader, or not where the leader is. It
// asks bootstrap servers for it. A voter stands for election when its timer
// ends; an observer never does.
type unattached struct {
	known   kafka.NodeID // the leader without an address, or NoNode
	expires kafka.Instant
}

func (u *unattached) name() Role                        { return RoleUnattached }
func (u *unattached) leader() (kafka.NodeID, Endpoints) { return u.known, nil }

func (u *unattached) turn(c *Core) {
	if c.mourned.begins(c) {
		c.standOnceMore(u.expires)
		return
	}
	if u.expires == kafka.Never && mayStand(c) {
		u.expires = electionTimer(c) // an observer that has become a voter
	}
	if mayStand(c) && c.now >= u.expires {
		c.becomeProspective()
		return
	}
	if c.longer.begins(c, kafka.NoNode) {
		c.standOnceMore(u.expires)
		return
	}
	if _, busy := c.calls.fetching(c.now); !busy && c.installing == 0 {
		fetchFromBootstrap(c)
	}
}

func (u *unattached) next(c *Core) kafka.Instant {
	at := c.longer.next(c.now)
	if mayStand(c) {
		at = min(at, u.expires)
	}
	if c.installing != 0 {
		return at
	}
	if until, busy := c.calls.fetching(c.now); busy {
		return min(at, until)
	}
	return min(at, nextBootstrap(c))
}
