package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// View gives the metadata as this node knows it: an image that is not changed
// any more.
type View interface{ Image() *image.Image }

// About is what ApiVersions tells besides the versions.
type About struct {
	ClusterID string
	Node      kafka.NodeID
	View      View
	// Supported are the features this node has and their levels. A feature
	// that stays at 0 is left out.
	Supported []image.VersionRange
	// KRaftVersion is the finalized kraft.version, which lives in the quorum's
	// log and not in the image. Nil means 0.
	KRaftVersion func() int16
	// Controller is the range of versions that the active controller serves of
	// a forwarded API, empty where it has none; known is false while no controller
	// is. Nil: as we do.
	Controller func(key int16) (minVersion, maxVersion int16, known bool)
	// FeaturesEpoch is the finalized features' epoch where it is not how far the
	// image is, as on a controller's listener; -1: not known. Nil: the image's.
	FeaturesEpoch func() int64
}

// apiVersions answers ApiVersions (KIP-35, 482, 511, 584, 1242).
type apiVersions struct {
	about About
	table *Table
}

// route is a barrier: what follows on the connection may depend on the answer.
func (a apiVersions) route() Route { return route(0, 5, a.serve).on(Everywhere).barrier() }

func (a apiVersions) serve(c Context, req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	if code := a.check(req); code != kerr.None {
		resp.ErrorCode = int16(code)
		return resp
	}
	if req.Version >= 3 {
		c.Conn.SetSoftware(req.ClientSoftwareName, req.ClientSoftwareVersion)
	}
	resp.ApiKeys = a.keys()
	a.features(resp, req.Version)
	return resp
}

// check tells why the request is refused. The cluster and the node may be named
// since v5: a client that reached another one than it meant learns that it has
// to begin with its bootstrap addresses again (KIP-1242).
func (a apiVersions) check(req *kmsg.ApiVersionsRequest) kerr.Code {
	if req.Version >= 3 && !(softwareWord(req.ClientSoftwareName) && softwareWord(req.ClientSoftwareVersion)) {
		return kerr.InvalidRequest
	}
	if req.Version < 5 {
		return kerr.None
	}
	switch {
	case (req.NodeID != -1) != (req.ClusterID != nil): // both or none
		return kerr.InvalidRequest
	case req.NodeID != -1 && (*req.ClusterID != a.about.ClusterID || kafka.NodeID(req.NodeID) != a.about.Node):
		return kerr.RebootstrapRequired
	}
	return kerr.None
}

// softwareWord is Kafka's rule for names and versions of client software:
// letters, digits, '-' and '.', the first and last a letter or digit.
func softwareWord(s string) bool {
	for i, c := range []byte(s) {
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		inner := (c == '-' || c == '.') && i > 0 && i < len(s)-1
		if !plain && !inner {
			return false
		}
	}
	return s != ""
}

func (a apiVersions) keys() []kmsg.ApiVersionsResponseApiKey {
	keys := make([]kmsg.ApiVersionsResponseApiKey, 0, len(a.table.routes))
	for _, r := range a.table.routes {
		k := kmsg.ApiVersionsResponseApiKey{ApiKey: r.Key, MinVersion: r.Min, MaxVersion: r.Max}
		if r.listed {
			k.MinVersion = r.ListedFrom
		}
		if r.Forwarded && !a.narrow(&k) {
			continue
		}
		keys = append(keys, k)
	}
	return keys
}

// narrow leaves what the active controller serves too; false: nothing.
func (a apiVersions) narrow(k *kmsg.ApiVersionsResponseApiKey) bool {
	if a.about.Controller == nil {
		return true
	}
	minVersion, maxVersion, known := a.about.Controller(k.ApiKey)
	if !known {
		return true
	}
	k.MinVersion, k.MaxVersion = max(k.MinVersion, minVersion), min(k.MaxVersion, maxVersion)
	return k.MinVersion <= k.MaxVersion
}

// features fills in the tagged fields of v3 and newer. Clients before v4 take a
// minimum of 0 for damage, so they do not see such features (KAFKA-17011).
func (a apiVersions) features(resp *kmsg.ApiVersionsResponse, version int16) {
	if version < 3 {
		return
	}
	for _, f := range a.about.Supported {
		if f.Max > 0 && (f.Min > 0 || version >= 4) {
			resp.SupportedFeatures = append(resp.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{
				Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max,
			})
		}
	}
	img := a.about.View.Image()
	resp.FinalizedFeaturesEpoch = int64(img.Provenance().Offset)
	if a.about.FeaturesEpoch != nil {
		resp.FinalizedFeaturesEpoch = a.about.FeaturesEpoch()
	}
	for name, level := range img.Features().All() {
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, finalized(name, level))
	}
	if a.about.KRaftVersion != nil {
		if level := a.about.KRaftVersion(); level > 0 {
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, finalized(image.KRaftVersion, level))
		}
	}
}

func finalized(name string, level int16) kmsg.ApiVersionsResponseFinalizedFeature {
	return kmsg.ApiVersionsResponseFinalizedFeature{Name: name, MaxVersionLevel: level, MinVersionLevel: level}
}

// tooNew answers a version that is newer than ours: in the oldest form, which
// every client reads, and with the range to choose from.
func (r *Route) tooNew(_ *transport.Request, reply func(transport.Reply)) {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = int16(kerr.UnsupportedVersion)
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: r.Key, MinVersion: r.Min, MaxVersion: r.Max}}
	reply(transport.FromMessage(resp))
}
