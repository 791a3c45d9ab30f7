package raft

import "github.com/ottla/ottla/internal/base/kerr"

// announce tells the leader, once every F, what it has to know of this node:
// that it is a voter with other addresses or levels than the set says, or that
// it wants to be one. It takes the place of a fetch; true when something was
// sent.
func (f *follower) announce(c *Core, at Endpoint) bool {
	if c.now < f.announceAt || f.download != nil {
		return false
	}
	news := f.news(c)
	f.announceAt = c.now.Add(c.cfg.Timing.Fetch)
	if news == nil {
		return false
	}
	limit := c.cfg.Timing.Request
	if c.quorum.member() {
		limit = updateLimit(c) // it stands for a fetch (B2)
	}
	f.announced = sendRequest(c, f.id, at, limit, news)
	return true
}

// news is what there is to tell, or nil.
func (f *follower) news(c *Core) Body {
	if !c.cfg.Controller || c.closing != nil {
		return nil
	}
	level := c.quorum.level()
	mine, listed := c.quorum.voters().Node(c.cfg.Self.Node)
	switch {
	case c.quorum.member():
		if level < 1 && f.told || level >= 1 && mine.equal(c.itself()) {
			return nil
		}
		return UpdateVoterRequest{
			Epoch: c.election.Epoch, Voter: c.cfg.Self, Endpoints: c.cfg.Endpoints, MinLevel: 0, MaxLevel: maxLevel,
		}
	case level < 1 || !c.cfg.AutoJoin:
		return nil
	case listed: // what we were before our disk was replaced
		return RemoveVoterRequest{Voter: mine.Key}
	}
	return AddVoterRequest{Voter: c.cfg.Self, Endpoints: c.cfg.Endpoints, AtOnce: true}
}

// updateAnswered: the leader knows us, or cannot know: then it is not told again.
func (f *follower) updateAnswered(c *Core, code kerr.Code) bool {
	if code != kerr.None && code != kerr.UnsupportedVersion {
		return false
	}
	f.told = true
	f.heard(c)
	return true
}

// changeAnswered: a refusal that time can mend waits for the next turn, any
// other one lets the leader rest as well.
func (f *follower) changeAnswered(c *Core, a ChangeAnswer) {
	switch a.Err {
	case kerr.None, kerr.RequestTimedOut, kerr.DuplicateVoter, kerr.VoterNotFound:
	default:
		pause(c, f.id)
	}
	f.announceAt = c.now.Add(c.cfg.Timing.Fetch)
}
