package node

import (
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

// folders are a node's directories, claimed for this process, and the logs of a
// broker in them.
type folders struct {
	*env
	clusterID  string
	metadataID kafka.DirID // of the directory of the metadata log
	// previousEpoch is the broker epoch of the last orderly stop.
	previousEpoch kafka.BrokerEpoch

	claimed *dirs.Claimed
	logs    *dirs.Dirs // nil without the broker role
	owner   dirs.Owner // of the logs

	// A directory may fail before the node has any use for the news.
	failures held[dirFailure] // for failed
	offline  held[dirFailure] // for the replicas and the lifecycle
}

// openFolders claims the node's directories and, for a broker, opens the logs in
// them, with at most so many files.
func openFolders(e *env, files int) (*folders, error) {
	want := dirs.Want{FS: e.fs, Node: e.self.ID, Metadata: e.self.MetadataDir, Now: time.Now}
	if e.self.Broker {
		want.LogDirs = e.self.LogDirs
	}
	claimed, err := dirs.Claim(want)
	if err != nil {
		return nil, err
	}
	f := &folders{env: e, clusterID: claimed.ClusterID, metadataID: claimed.Metadata.ID, claimed: claimed, owner: nobody{}}
	err = checkFolder(e.fs, e.self)
	if err == nil && e.self.Broker {
		err = f.load(files)
	}
	if err != nil {
		claimed.Close()
		return nil, err
	}
	return f, nil
}

func (f *folders) load(files int) (err error) {
	f.previousEpoch = f.claimed.PreviousBrokerEpoch()
	f.watched.at(recovering)
	f.logs, err = dirs.Load(f.claimed, dirs.Options{
		Config:    config.TopicDefaults(f.cfg),
		Files:     storage.NewFiles(files),
		Now:       time.Now,
		Logger:    f.part("storage"),
		OnFailed:  func(id kafka.DirID, path string, err error) { f.failures.give(dirFailure{id, path, err}) },
		Every:     dirs.IntervalsOf(f.cfg),
		Compact:   f.cfg.Bool("log.cleaner.enable"),
		HangLimit: f.cfg.Duration("ottla.disks.hang.limit.ms"),
		Live:      dirs.LiveOf(f.cfg),
	})
	if err != nil {
		return err
	}
	f.live.follow(func(now *config.Config) { f.logs.SetLive(dirs.LiveOf(now)) })
	f.failures.take(f.failed)
	f.watched.show(f.logs.Register)
	return nil
}

// dirFailure is the end of a log directory.
type dirFailure struct {
	id   kafka.DirID
	path string
	err  error
}

// failed takes a failed directory's replicas out of service and tells the
// controller. The directory of the metadata log, and the last one of all, take
// the node along.
func (f *folders) failed(d dirFailure) {
	// The storage has logged the cause.
	f.log.Info("replicas of a failed log directory are offline", "dir", d.path)
	switch {
	case filepath.Clean(d.path) == filepath.Clean(f.self.MetadataDir):
		f.failure.fail(fmt.Errorf("the directory of the metadata log failed: %s: %w", d.path, d.err))
	case len(f.logs.OnlineIDs()) == 0:
		f.failure.fail(fmt.Errorf("all log directories failed, the last one is %s: %w", d.path, d.err))
	default:
		f.offline.give(d)
	}
}

// departure is how a node leaves its folders behind.
type departure struct {
	orderly bool // the stop was asked for
	// epoch is the broker epoch that the controller let go, or NoBrokerEpoch.
	epoch kafka.BrokerEpoch
	// writing is closed once nothing of ours writes to the metadata directory any
	// more; nil where nothing does.
	writing <-chan struct{}
}

// close closes the logs and gives the directories up. After an orderly stop the
// logs are marked as clean. While something of ours may still write, all of that
// has to wait: another process that was given the directories would not expect
// it. The end of this process gives them up, too, as a crash does.
func (f *folders) close(d departure) {
	if d.writing == nil {
		f.giveUp(d)
		return
	}
	f.log.Error("a write to the metadata log does not end; the directories stay locked until it does, or the process ends", "dir", f.self.MetadataDir)
	go func() {
		<-d.writing
		f.giveUp(d)
	}()
}

func (f *folders) giveUp(d departure) {
	if f.logs == nil {
		f.claimed.Close()
		return
	}
	f.logs.Close(d.orderly, d.epoch, f.owner)
}

// nobody owns the logs of a broker that did not get as far as having replicas.
type nobody struct{}

func (nobody) HighWatermark(kafka.TopicPartition) (kafka.Offset, bool) { return 0, false }

func (nobody) HighWatermarkMoves() uint64 { return 0 }

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
		all[i] = api.DirState{Path: path, ID: f.ID, Offline: f.Err != nil, Total: f.Total, Usable: f.Usable, Cordoned: f.Cordoned}
		if f.Err != nil {
			all[i].Why = f.Err.Error()
		}
	}
	return all
}
