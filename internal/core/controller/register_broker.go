package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// noOnlineDir is what KIP-858 answers a registration without an online log
// directory with. Apache Kafka answers 119; its brokers treat both alike.
const noOnlineDir = kerr.InvalidRequest

// Registration is a broker's wish to join (BrokerRegistration, KIP-631).
type Registration struct {
	Broker      kafka.NodeID
	ClusterID   string
	Incarnation kafka.UUID
	Endpoints   []image.Endpoint
	Features    []image.VersionRange
	Rack        *string
	Migrating   bool // from ZooKeeper, which is long gone
	Dirs        []kafka.DirID
	// PreviousEpoch is that of the incarnation that shut down cleanly before,
	// kafka.NoBrokerEpoch if it did not (KIP-966).
	PreviousEpoch kafka.BrokerEpoch
	// SameProcess: the broker is part of the active controller's own node. Its
	// former incarnation ran in a process that held the same directories, so it
	// is gone, however fresh its session.
	SameProcess bool
}

// Registered is the reply to a registration.
type Registered struct {
	Epoch kafka.BrokerEpoch
}

// RegisterBroker lets a broker join. A new incarnation gets a new epoch, is
// fenced and leaves all ISRs; the same incarnation amends its registration and
// keeps epoch and state (KAFKA-16757).
func RegisterBroker(img *image.Image, soft *Soft, now kafka.Instant, want Registration) Decision[Registered] {
	if err := checkRegistration(img, soft, now, want); err != nil {
		return refuse[Registered](err)
	}
	d := draftOn(img)
	epoch := kafka.BrokerEpoch(d.nextOffset())
	old, known := img.Broker(want.Broker)
	r := registrationRecord(want)
	amends := known && old.Incarnation == want.Incarnation
	switch {
	case amends:
		epoch = old.Epoch
		r.Fenced, r.InControlledShutdown = old.Fenced, old.ShuttingDown
		d.leaveMissing(soft, old, want.Dirs)
	case known:
		d.cleanUp(soft, old, want.PreviousEpoch)
	}
	if known {
		d.placeInOnlyDir(old, want.Dirs)
	}
	r.BrokerEpoch = int64(epoch)
	if !d.level().HasDirectories() {
		r.LogDirs = nil
	}
	d.addAt(r, d.level().RegisterBroker())
	if amends && !old.Fenced {
		d.regainDirs(soft, old)
	}
	return piecewise(d, Registered{Epoch: epoch}).then(func() {
		if !amends {
			soft.Live.forget(want.Broker)
		}
	})
}

// leaveMissing takes the replicas out of their ISRs whose directories an amended
// registration names no more: they have failed, and no heartbeat could tell of them
// any more.
func (d *draft) leaveMissing(soft *Soft, old *image.Broker, dirs []kafka.DirID) {
	for _, dir := range old.Dirs {
		if d.level().HasDirectories() && !slices.Contains(dirs, dir) {
			d.leaveDir(soft, old.ID, dir)
		}
	}
}

// cleanUp takes the former incarnation out of the ISRs and, if it did not shut
// down cleanly, out of the ELRs.
func (d *draft) cleanUp(soft *Soft, old *image.Broker, previous kafka.BrokerEpoch) {
	if d.image().ElrEnabled() && previous != old.Epoch {
		d.leaveUnclean(soft, old.ID)
		return
	}
	d.leave(soft, old.ID)
}

// placeInOnlyDir records that replicas of unknown place are in the only
// directory that the broker had until now. Where every controller knows the
// rule of KIP-858, replay does so without records.
func (d *draft) placeInOnlyDir(old *image.Broker, dirs []kafka.DirID) {
	img := d.image()
	if img.Hosted(old.ID).Unplaced == 0 || !d.level().HasDirectories() || !image.BecomesSeveral(old.Dirs, dirs) || img.DirsByRule() {
		return
	}
	for at, p := range img.Partitions() {
		if n := slices.Index(p.Replicas, old.ID); n >= 0 && image.Unplaced(p.Dirs[n]) {
			r := metarec.NewPartitionChangeRecord()
			r.TopicId, r.PartitionId = at.Topic.ID, int32(at.Partition)
			r.Directories = slices.Clone(p.Dirs)
			r.Directories[n] = old.Dirs[0]
			d.addAt(r, d.level().Partition())
		}
	}
}

func registrationRecord(want Registration) *metarec.RegisterBrokerRecord {
	b := image.Broker{
		ID: want.Broker, Incarnation: want.Incarnation, Endpoints: want.Endpoints, Features: want.Features,
		Rack: want.Rack, Fenced: true, Dirs: want.Dirs,
	}
	return b.Record()
}

// checkRegistration finds the first reason to refuse, in Kafka's order.
func checkRegistration(img *image.Image, soft *Soft, now kafka.Instant, want Registration) error {
	if want.ClusterID != soft.ClusterID {
		return kerr.Errorf(kerr.InconsistentClusterId, "broker %d is of cluster %q, this is %q",
			want.Broker, want.ClusterID, soft.ClusterID)
	}
	old, known := img.Broker(want.Broker)
	if known && old.Incarnation != want.Incarnation && soft.Live.inSession(old, now, soft.SessionTimeout) && !isGone(old, want, soft, now) {
		return kerr.Errorf(kerr.DuplicateBrokerRegistration,
			"another broker with id %d is alive, with incarnation %v", want.Broker, old.Incarnation)
	}
	if want.Migrating {
		return kerr.Errorf(kerr.BrokerIdNotRegistered, "broker %d migrates from ZooKeeper, which is not supported", want.Broker)
	}
	if img.Level().HasDirectories() {
		if err := checkDirs(img, want); err != nil {
			return err
		}
	}
	if err := checkEndpoints(want); err != nil {
		return err
	}
	return checkFeatures(img, soft, want)
}

// isGone tells whether a broker's registered incarnation has ended although its
// session stands, seen from a registration of another incarnation. One that was let go
// has said so itself. Of others, one that holds the locks of the same directories says
// so, and where it may hold a copy of them instead, the silence of the registered one
// does.
func isGone(old *image.Broker, want Registration, soft *Soft, now kafka.Instant) bool {
	return want.SameProcess || soft.Live.released(old) || sameDirs(old.Dirs, want.Dirs) && !soft.Live.inSession(old, now, soft.SessionTimeout/2)
}

func sameDirs(a, b []kafka.DirID) bool {
	if len(a) == 0 || len(a) != len(b) {
		return false
	}
	for _, dir := range a {
		if !slices.Contains(b, dir) {
			return false
		}
	}
	return true
}

func checkDirs(img *image.Image, want Registration) error {
	if len(want.Dirs) == 0 {
		return kerr.Errorf(noOnlineDir, "broker %d has no online log directory", want.Broker)
	}
	seen := map[kafka.DirID]bool{}
	for _, dir := range want.Dirs {
		owner, owned := img.DirOwner(dir)
		switch {
		case dir.Reserved():
			return kerr.Errorf(kerr.InvalidRegistration, "log directory id %v of broker %d is reserved", dir, want.Broker)
		case seen[dir]:
			return kerr.Errorf(kerr.InvalidRegistration, "broker %d has two log directories with id %v", want.Broker, dir)
		case owned && owner != want.Broker:
			return kerr.Errorf(kerr.InvalidRegistration, "log directory %v of broker %d is registered by broker %d", dir, want.Broker, owner)
		}
		seen[dir] = true
	}
	return nil
}

// checkEndpoints refuses what would make Apache Kafka's controller fail over.
func checkEndpoints(want Registration) error {
	seen := map[string]bool{}
	for _, e := range want.Endpoints {
		switch {
		case e.Protocol < 0 || e.Protocol > 3:
			return kerr.Errorf(kerr.InvalidRegistration, "listener %q of broker %d has unknown security protocol %d", e.Name, want.Broker, e.Protocol)
		case e.Port == 0:
			return kerr.Errorf(kerr.InvalidRegistration, "listener %q of broker %d has port 0", e.Name, want.Broker)
		case e.Host == "":
			return kerr.Errorf(kerr.InvalidRegistration, "listener %q of broker %d has no host", e.Name, want.Broker)
		case seen[e.Name]:
			return kerr.Errorf(kerr.InvalidRegistration, "broker %d has two listeners %q", want.Broker, e.Name)
		}
		seen[e.Name] = true
	}
	return nil
}

// checkFeatures tells whether the broker can live with what is finalized.
func checkFeatures(img *image.Image, soft *Soft, want Registration) error {
	named := map[string]bool{}
	for _, f := range want.Features {
		switch {
		case f.Min < 0 || f.Max < f.Min:
			return kerr.Errorf(kerr.InvalidRegistration, "feature %s of broker %d has range %d to %d", f.Name, want.Broker, f.Min, f.Max)
		case named[f.Name]:
			return kerr.Errorf(kerr.InvalidRegistration, "broker %d names feature %s twice", want.Broker, f.Name)
		}
		named[f.Name] = true
		level := img.Feature(f.Name)
		if f.Name == image.KRaftVersion {
			level = soft.kraftVersion()
		}
		// Ours is never finalized, and its range need not contain 0.
		if f.Name != image.DirsFeature && !f.Contains(level) {
			return kerr.Errorf(kerr.UnsupportedVersion, "broker %d supports %s %d to %d, the cluster is at %d",
				want.Broker, f.Name, f.Min, f.Max, level)
		}
	}
	if !named[image.MetadataVersion] {
		return kerr.Errorf(kerr.InvalidRegistration, "broker %d does not name %s", want.Broker, image.MetadataVersion)
	}
	for name, level := range img.Features().All() {
		if !named[name] {
			return kerr.Errorf(kerr.UnsupportedVersion, "broker %d does not support %s, which the cluster has at %d", want.Broker, name, level)
		}
	}
	return nil
}
