package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicMaker creates topics that somebody asked for, in the background
// (auto.create.topics.enable). It must not block; a name that is being created
// already, or cannot be now, is left for the client's next attempt.
type TopicMaker interface{ MakeTopics(names []string) }

// metadata answers Metadata: the brokers, and where topics are.
type metadata struct {
	view      View
	clusterID string
	self      kafka.NodeID
	maker     TopicMaker // nil: topics are not created on sight
}

func (m metadata) serve(c Context, req *kmsg.MetadataRequest) kmsg.Response {
	q := metadataQuery{Context: c, req: req, img: m.view.Image(), version: req.Version}
	resp := kmsg.NewPtrMetadataResponse()
	resp.AuthorizedOperations = noOperations
	if q.malformed() {
		resp.Topics = q.refused()
		resp.Brokers = []kmsg.MetadataResponseBroker{}
		resp.ControllerID = int32(kafka.NoNode)
		return resp
	}
	resp.ClusterID = &m.clusterID
	resp.Brokers, resp.ControllerID = q.brokers(m.self)
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = allClusterOperations
	}
	var wanted []string
	resp.Topics, wanted = q.topics()
	if m.maker != nil && len(wanted) > 0 && (req.Version < 4 || req.AllowAutoTopicCreation) {
		m.maker.MakeTopics(wanted)
	}
	return resp
}

// metadataQuery is one request with the image that answers it.
type metadataQuery struct {
	Context
	req     *kmsg.MetadataRequest
	img     *image.Image
	version int16
}

// malformed: before v12 topics are asked for by name alone, although v10 and
// v11 have room for an id.
func (q *metadataQuery) malformed() bool {
	if q.version >= 12 {
		return false
	}
	for i := range q.req.Topics {
		t := &q.req.Topics[i]
		if t.Topic == nil || t.TopicID != [16]byte{} {
			return true
		}
	}
	return false
}

func (q *metadataQuery) refused() []kmsg.MetadataResponseTopic {
	topics := make([]kmsg.MetadataResponseTopic, 0, len(q.req.Topics))
	for _, t := range q.req.Topics {
		name := ""
		if t.Topic != nil {
			name = *t.Topic
		}
		topics = append(topics, noTopic(&name, t.TopicID, kerr.InvalidRequest))
	}
	return topics
}

// brokers lists who can be reached through the listener of the request, and
// picks the one to send changes to: ourselves where we are among them, since
// every broker forwards.
func (q *metadataQuery) brokers(self kafka.NodeID) (list []kmsg.MetadataResponseBroker, controller int32) {
	list, controller = []kmsg.MetadataResponseBroker{}, int32(kafka.NoNode)
	for id, b := range q.img.Brokers().All() {
		e, ok := b.Endpoint(q.Conn.Listener)
		if b.Fenced || !ok {
			continue
		}
		list = append(list, kmsg.MetadataResponseBroker{NodeID: int32(id), Host: e.Host, Port: int32(e.Port), Rack: b.Rack})
		if controller == int32(kafka.NoNode) || id == self {
			controller = int32(id)
		}
	}
	return list, controller
}

// topics describes what was asked for; wanted are names of topics that are not
// there and could be.
func (q *metadataQuery) topics() (topics []kmsg.MetadataResponseTopic, wanted []string) {
	if q.req.Topics == nil || q.version == 0 && len(q.req.Topics) == 0 {
		return q.all(), nil
	}
	topics = make([]kmsg.MetadataResponseTopic, 0, len(q.req.Topics))
	seen := make(map[string]bool, len(q.req.Topics))
	ids := map[kafka.TopicID]bool{}
	for i := range q.req.Topics {
		want := &q.req.Topics[i]
		if want.TopicID != [16]byte{} {
			if ids[want.TopicID] {
				continue
			}
			ids[want.TopicID] = true
			topics = append(topics, q.byID(want.TopicID))
			continue
		}
		if want.Topic == nil {
			topics = append(topics, noTopic(nil, want.TopicID, kerr.InvalidRequest))
			continue
		}
		name := *want.Topic
		if seen[name] {
			continue
		}
		seen[name] = true
		t, ok := q.img.TopicNamed(name)
		if ok {
			topics = append(topics, q.topic(t))
			continue
		}
		code := unknownTopic(name)
		topics = append(topics, noTopic(&name, [16]byte{}, code))
		if code == kerr.UnknownTopicOrPartition {
			wanted = append(wanted, name)
		}
	}
	return topics, wanted
}

func (q *metadataQuery) all() []kmsg.MetadataResponseTopic {
	topics := make([]kmsg.MetadataResponseTopic, 0, q.img.TopicNames().Len())
	for _, id := range q.img.TopicNames().All() {
		if t, ok := q.img.TopicByID(id); ok {
			topics = append(topics, q.topic(t))
		}
	}
	return topics
}

func (q *metadataQuery) byID(id kafka.TopicID) kmsg.MetadataResponseTopic {
	t, ok := q.img.TopicByID(id)
	if !ok {
		return noTopic(nil, id, kerr.UnknownTopicId)
	}
	return q.topic(t)
}

// noTopic is the entry for a topic that cannot be described.
func noTopic(name *string, id kafka.TopicID, code kerr.Code) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.ErrorCode, t.Topic, t.TopicID = int16(code), name, id
	t.IsInternal = name != nil && kafka.IsInternal(*name)
	t.Partitions = []kmsg.MetadataResponseTopicPartition{}
	return t
}

func (q *metadataQuery) topic(t *image.Topic) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	r.Topic, r.TopicID, r.IsInternal = &t.Name, t.ID, kafka.IsInternal(t.Name)
	if q.req.IncludeTopicAuthorizedOperations {
		r.AuthorizedOperations = allTopicOperations
	}
	r.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.Partitions.Len())
	for id, p := range t.Partitions.All() {
		r.Partitions = append(r.Partitions, q.partition(id, p))
	}
	return r
}

// partition describes one partition. Version 0 has no room for offline
// replicas and leaves them out of the lists instead, with an error that says
// so; other versions list all replicas.
func (q *metadataQuery) partition(id kafka.PartitionID, p *image.Partition) kmsg.MetadataResponseTopicPartition {
	listener := q.Conn.Listener
	missing := kerr.ListenerNotFound
	if q.version < 6 {
		missing = kerr.LeaderNotAvailable
	}
	leader, code := leaderOf(q.img, p, listener, missing)
	r := kmsg.NewMetadataResponseTopicPartition()
	r.Partition, r.Leader, r.LeaderEpoch = int32(id), int32(leader), int32(p.LeaderEpoch)
	r.Replicas, r.ISR = nodeIDs(p.Replicas), nodeIDs(p.ISR)
	r.OfflineReplicas = offlineReplicas(q.img, p, listener)
	if q.version == 0 {
		r.Replicas, r.ISR = q.alive(p.Replicas), q.alive(p.ISR)
		if code == kerr.None && (len(r.Replicas) < len(p.Replicas) || len(r.ISR) < len(p.ISR)) {
			code = kerr.ReplicaNotAvailable
		}
	}
	r.ErrorCode = int16(code)
	return r
}

// alive keeps the nodes that can be reached through the listener.
func (q *metadataQuery) alive(nodes []kafka.NodeID) []int32 {
	ids := []int32{}
	for _, n := range nodes {
		if b, ok := q.img.Broker(n); ok && !b.Fenced {
			if _, ok := b.Endpoint(q.Conn.Listener); ok {
				ids = append(ids, int32(n))
			}
		}
	}
	return ids
}
