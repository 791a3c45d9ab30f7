package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/storage"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

// openDirs claims the node's directories and, for a broker, opens the logs in
// them.
func (n *node) openDirs(context.Context) error {
	self := n.cfg.Node()
	want := dirs.Want{FS: n.fs, Node: self.ID, Metadata: self.MetadataDir, Now: time.Now}
	if self.Broker {
		want.LogDirs = self.LogDirs
	}
	claimed, err := dirs.Claim(want)
	if err != nil {
		return err
	}
	if err := n.checkFolder(); err != nil {
		claimed.Close()
		return err
	}
	n.clusterID, n.metadataDirID = claimed.ClusterID, claimed.Metadata.ID
	if !self.Broker {
		n.onStop(claimed.Close)
		return nil
	}
	n.previousEpoch = claimed.PreviousBrokerEpoch()
	n.watched.at(recovering)
	loaded, err := dirs.Load(claimed, dirs.Options{
		Config:         config.TopicDefaults(n.cfg),
		Threads:        int(n.cfg.Int("num.recovery.threads.per.data.dir")),
		Files:          storage.NewFiles(n.files.logs),
		Now:            time.Now,
		Logger:         n.log.With("part", "storage"),
		ProducerExpiry: n.cfg.Duration("producer.id.expiration.ms"),
		OnFailed:       func(id kafka.DirID, path string, err error) { n.failures.give(dirFailure{id, path, err}) },
		Every:          dirs.IntervalsOf(n.cfg),
		KeyBytes:       n.cfg.Int("log.cleaner.dedupe.buffer.size"),
	})
	if err != nil {
		claimed.Close()
		return err
	}
	n.dirs = loaded
	n.failures.take(n.dirFailed)
	n.watched.show(loaded.Register)
	n.onStop(n.closeDirs)
	return nil
}

// dirFailure is the end of a log directory.
type dirFailure struct {
	id   kafka.DirID
	path string
	err  error
}

// dirFailed takes a failed directory's replicas out of service and tells the
// controller. The directory of the metadata log, and the last one of all, take
// the node along.
func (n *node) dirFailed(f dirFailure) {
	n.log.Error("log directory failed; its replicas are offline", "dir", f.path, "err", f.err)
	switch {
	case filepath.Clean(f.path) == filepath.Clean(n.cfg.Node().MetadataDir):
		n.fail(fmt.Errorf("the directory of the metadata log failed: %s: %w", f.path, f.err))
	case len(n.dirs.OnlineIDs()) == 0:
		n.fail(fmt.Errorf("all log directories failed, the last one is %s: %w", f.path, f.err))
	default:
		n.offline.give(f.id)
	}
}

// closeDirs closes the logs; after an orderly stop they are marked as clean.
func (n *node) closeDirs() {
	var owner dirs.Owner = nobody{}
	if n.broker != nil {
		owner = n.broker.parts
	}
	n.dirs.Close(n.orderly, n.cleanEpoch, owner)
}

// nobody owns the logs of a broker that did not get as far as having replicas.
type nobody struct{}

func (nobody) HighWatermark(kafka.TopicPartition) (kafka.Offset, bool) { return 0, false }

func (nobody) Trimmed(kafka.TopicPartition) {}

// replicaDirs shows the directories to the replicas and to DescribeLogDirs as
// they want them.
type replicaDirs struct{ *dirs.Dirs }

func (d replicaDirs) Loaded() []partitions.LoadedLog {
	found := d.Dirs.Loaded()
	all := make([]partitions.LoadedLog, len(found))
	for i, l := range found {
		all[i] = partitions.LoadedLog(l)
	}
	return all
}

func (d replicaDirs) DirStates() []api.DirState {
	found := d.Describe()
	all := make([]api.DirState, len(found))
	for i, f := range found {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			path = f.Path
		}
		all[i] = api.DirState{Path: path, ID: f.ID, Offline: f.Err != nil, Total: f.Total, Usable: f.Usable}
	}
	return all
}
