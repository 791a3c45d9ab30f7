package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// Beat is a heartbeat of a broker (KIP-631).
type Beat struct {
	Broker         kafka.NodeID
	Epoch          kafka.BrokerEpoch
	MetadataOffset kafka.Offset // the highest the broker has published
	WantFence      bool
	WantShutDown   bool
	OfflineDirs    []kafka.DirID // all that failed since the broker's start
	Cordoned       []kafka.DirID // nil: the broker does not say
}

// Beaten is the reply to a heartbeat.
type Beaten struct {
	CaughtUp bool // the broker has seen its own registration
	Fenced   bool
	ShutDown bool // it may end now
	// Unplaced counts the broker's replicas without a recorded directory. When
	// it is positive and Fenced is false the wait for them was given up, which
	// is worth a warning (KIP-858).
	Unplaced int
}

// brokerState is where a broker stands in its life.
type brokerState int8

const (
	fenced brokerState = iota
	unfenced
	shuttingDown
	shutDownNow
)

// Heartbeat takes note of a broker and moves it to its next state.
func Heartbeat(img *image.Image, soft *Soft, now kafka.Instant, want Beat) Decision[Beaten] {
	b, ok := img.Broker(want.Broker)
	switch {
	case !ok:
		return refusef[Beaten](kerr.StaleBrokerEpoch, "broker %d is not registered", want.Broker)
	case b.Epoch != want.Epoch:
		return refusef[Beaten](kerr.StaleBrokerEpoch, "broker %d has epoch %d, not %d", want.Broker, b.Epoch, want.Epoch)
	}
	known := soft.Live.of(b, now)
	known.contact = now
	known.offset = want.MetadataOffset

	d := draftOn(img)
	reply := Beaten{CaughtUp: want.MetadataOffset >= b.RecordOffset}
	// Lost directories come first: a broker must not be unfenced as the leader
	// of partitions in a directory that it reports lost in the same heartbeat.
	if img.Level().HasDirectories() {
		d.loseDirs(soft, b, want.OfflineDirs)
	}
	next := soft.nextState(img, b, &known, now, want, &reply)
	d.moveTo(soft, b, &known, next)
	if img.Level() >= image.LevelCordonedDirs && want.Cordoned != nil {
		d.cordon(b, want.Cordoned)
	}
	reply.Fenced = next == fenced || next == shutDownNow
	reply.ShutDown = next == shutDownNow
	known.released = reply.ShutDown
	return piecewise(d, reply).then(func() { soft.Live.note(b.ID, known) })
}

func (k *beat) state(b *image.Broker) brokerState {
	switch {
	case k.shutdownAt >= 0:
		return shuttingDown
	case b.Fenced:
		return fenced
	}
	return unfenced
}

// nextState is the table of a broker's life.
func (s *Soft) nextState(img *image.Image, b *image.Broker, known *beat, now kafka.Instant, want Beat, reply *Beaten) brokerState {
	switch known.state(b) {
	case fenced:
		switch {
		case want.WantShutDown:
			return shutDownNow
		case want.WantFence || !reply.CaughtUp || s.heldForDirs(img, b, known, now, reply):
			return fenced
		}
		return unfenced
	case shuttingDown:
		if leads(img, b.ID) {
			return shuttingDown
		}
		lowest, anyone := s.Live.lowestOffset(img)
		if !anyone || known.shutdownAt <= lowest {
			return shutDownNow
		}
		return shuttingDown
	}
	switch {
	case want.WantFence && want.WantShutDown:
		return shutDownNow
	case want.WantFence:
		return fenced
	case want.WantShutDown && leads(img, b.ID):
		return shuttingDown
	case want.WantShutDown:
		return shutDownNow
	}
	return unfenced
}

// moveTo writes what a change of state needs, and notes it in known.
func (d *draft) moveTo(soft *Soft, b *image.Broker, known *beat, next brokerState) {
	current := known.state(b)
	if current == next {
		return
	}
	switch next {
	case fenced, shutDownNow:
		if !b.Fenced {
			d.fence(soft, b)
		}
		if next == fenced {
			known.heldSince = kafka.Never
		}
	case unfenced:
		known.heldSince = kafka.Never
		d.unfence(soft, b)
	case shuttingDown:
		d.shutDown(soft, b)
		known.shutdownAt = max(d.nextOffset()-1, 0)
	}
}

func leads(img *image.Image, id kafka.NodeID) bool { return img.Hosted(id).Leads > 0 }

// heldForDirs keeps a broker with several directories fenced until the log
// says for each of its replicas in which one it is (KIP-858): if a directory
// fails, the controller must know which partitions need another leader. Our
// brokers report every replica, so they are held without limit; others may
// never report one in a failed directory and are let go after a while.
func (s *Soft) heldForDirs(img *image.Image, b *image.Broker, known *beat, now kafka.Instant, reply *Beaten) bool {
	if !img.Level().HasDirectories() || len(b.Dirs) < 2 {
		return false
	}
	reply.Unplaced = img.Hosted(b.ID).Unplaced
	if reply.Unplaced == 0 {
		return false
	}
	known.heldSince = min(known.heldSince, now)
	ours := slices.ContainsFunc(b.Features, func(f image.VersionRange) bool { return f.Name == image.DirsFeature })
	return ours || now < known.heldSince.Add(s.AssignmentWait)
}
