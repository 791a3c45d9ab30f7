package raftnode

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ApiVersions (18), as a leader asks it of who is to be a voter. That the node
// is the one it takes it for is checked from version 5 on (KIP-1242).

// kraftVersion is the feature whose levels the quorum agrees on.
const kraftVersion = "kraft.version"

func (w translator) askVersions(b raft.VersionsRequest) kmsg.Request {
	r := kmsg.NewPtrApiVersionsRequest()
	r.ClientSoftwareName, r.ClientSoftwareVersion = "ottla", "0"
	r.ClusterID, r.NodeID = &w.clusterID, int32(b.Node)
	return r
}

func readVersions(r *kmsg.ApiVersionsResponse) raft.Body {
	a := raft.VersionsAnswer{Err: kerr.Code(r.ErrorCode), MaxLevel: -1}
	i := slices.IndexFunc(r.SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool { return f.Name == kraftVersion })
	if i >= 0 {
		a.MinLevel, a.MaxLevel = r.SupportedFeatures[i].MinVersion, r.SupportedFeatures[i].MaxVersion
	}
	return a
}
