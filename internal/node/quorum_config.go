package node

import (
	"path/filepath"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/drive/quorumtrace"
	"github.com/ottla/ottla/internal/drive/raftnode"
)

// metadataFolder is the folder of the metadata log in its directory.
const metadataFolder = kafka.MetadataTopic + "-0"

func metadataDir(self *config.Node) string { return filepath.Join(self.MetadataDir, metadataFolder) }

// quorumConfig translates a node's settings for its member of the quorum, which
// others reach at the advertised endpoints.
func quorumConfig(e *env, f *folders, advertised []image.Endpoint, sender raftnode.Sender) raftnode.Config {
	cfg, self := e.cfg, e.self
	rc := raftnode.Config{
		FS:         e.fs,
		Dir:        metadataDir(self),
		ClusterID:  f.clusterID,
		Self:       kafka.ReplicaKey{Node: self.ID, Dir: f.metadataID},
		Controller: self.Controller,
		Formatted:  self.Controller,
		Listener:   self.ControllerNames[0],
		AutoJoin:   cfg.Bool("controller.quorum.auto.join.enable"),
		Timing: raft.Timing{
			Election:     cfg.Duration("controller.quorum.election.timeout.ms"),
			Fetch:        cfg.Duration("controller.quorum.fetch.timeout.ms"),
			Request:      cfg.Duration("controller.quorum.request.timeout.ms"),
			RetryBackoff: cfg.Duration("controller.quorum.retry.backoff.ms"),
			BackoffMax:   cfg.Duration("controller.quorum.election.backoff.max.ms"),
			FetchBytes:   int32(cfg.Int("controller.quorum.fetch.max.bytes")),
			ChunkBytes:   int32(cfg.Int("controller.quorum.fetch.snapshot.max.bytes")),
		},
		SegmentBytes: int(cfg.Int("metadata.log.segment.bytes")),
		SegmentAge:   cfg.Duration("metadata.log.segment.ms"),
		Retention: raftnode.Retention{
			Bytes: cfg.Int("metadata.max.retention.bytes"),
			Age:   cfg.Duration("metadata.max.retention.ms"),
		},
		Sender: sender,
		Log:    e.part("quorum"),
		Fatal:  e.failure.fail,
	}
	for _, a := range advertised {
		rc.Endpoints = append(rc.Endpoints, raft.Endpoint{Name: a.Name, Host: a.Host, Port: a.Port})
	}
	rc.Voters, rc.Bootstrap = staticVoters(self), whomToAsk(self)
	if e.traced != nil {
		rc.Observer = quorumtrace.NewWriter(e.traced)
	}
	return rc
}

// staticVoters are the voters of a static quorum, known by node id only.
func staticVoters(self *config.Node) (all raft.Voters) {
	for _, v := range self.Voters {
		at := raft.Endpoint{Name: self.ControllerNames[0], Host: v.Host, Port: uint16(v.Port)}
		all = all.With(raft.Voter{Key: kafka.ReplicaKey{Node: v.ID}, Endpoints: raft.Endpoints{at}})
	}
	return all
}

// whomToAsk are the controllers that a node asks which finds no leader: those
// the settings name for it, else the static voters, as in Kafka.
func whomToAsk(self *config.Node) (all []raft.Endpoint) {
	hosts := self.Bootstrap
	if len(hosts) == 0 {
		for _, v := range self.Voters {
			hosts = append(hosts, v.HostPort)
		}
	}
	for _, h := range hosts {
		all = append(all, raft.Endpoint{Name: self.ControllerNames[0], Host: h.Host, Port: uint16(h.Port)})
	}
	return all
}
