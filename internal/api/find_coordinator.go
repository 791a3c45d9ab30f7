package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The kinds of coordinators that FindCoordinator asks for.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2
)

// fatalToOldProducers is the answer to who looks for the coordinator of a
// transaction by a version below 4. librdkafka does so (version 2), and tries
// again for ever on every code that it has no rule for, INVALID_REQUEST among
// them; this one ends its producer at once, with our message. Clients
// of version 4 and up (Kafka's own, franz-go) end on INVALID_REQUEST, and would
// blame an ACL for this one.
const fatalToOldProducers = kerr.TransactionalIdAuthorizationFailed

// findCoordinator answers FindCoordinator: the leader of the partition of
// __consumer_offsets that holds a group, or of __transaction_state that holds a
// transactional id. The first topic is created when it is first asked for; the
// other one is there only where Apache Kafka's brokers are, and coordinate.
type findCoordinator struct {
	view   View
	groups Coordinator
}

func (f findCoordinator) serve(c Context, req *kmsg.FindCoordinatorRequest) kmsg.Response {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if req.Version < 4 {
		found := f.find(c, req.CoordinatorType, req.CoordinatorKey)
		switch {
		case found.ErrorCode == 0:
			found.ErrorMessage = kmsg.StringPtr("NONE") // as Apache Kafka says it
		case req.CoordinatorType == transactionCoordinator && kerr.Code(found.ErrorCode) == kerr.InvalidRequest:
			found.ErrorCode = int16(fatalToOldProducers)
		}
		resp.ErrorCode, resp.ErrorMessage = found.ErrorCode, found.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = found.NodeID, found.Host, found.Port
		return resp
	}
	if len(req.CoordinatorKeys) > maxNamed {
		resp.Coordinators = tooManyToFind(req.CoordinatorKeys)
		return resp
	}
	for _, key := range distinct(req.CoordinatorKeys, itself[string]) {
		resp.Coordinators = append(resp.Coordinators, f.find(c, req.CoordinatorType, key))
	}
	return resp
}

// tooManyToFind refuses the first maxNamed keys, which stand for the rest.
func tooManyToFind(keys []string) []kmsg.FindCoordinatorResponseCoordinator {
	why := tooManyNames(len(keys), "keys")
	refused := make([]kmsg.FindCoordinatorResponseCoordinator, maxNamed)
	for i, key := range keys[:maxNamed] {
		refused[i] = kmsg.FindCoordinatorResponseCoordinator{
			Key: key, NodeID: int32(kafka.NoNode), Port: -1, ErrorCode: int16(kerr.InvalidRequest), ErrorMessage: why,
		}
	}
	return refused
}

func (f findCoordinator) find(c Context, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	found := kmsg.NewFindCoordinatorResponseCoordinator()
	found.Key, found.NodeID, found.Port = key, int32(kafka.NoNode), -1
	found.ErrorMessage = kmsg.StringPtr("")
	node, err := f.coordinator(c.Conn.Listener, kind, key)
	if err != nil {
		found.ErrorCode, found.ErrorMessage = int16(kerr.Of(err)), kerr.Message(err)
		return found
	}
	found.NodeID, found.Host, found.Port = int32(node.id), node.host, node.port
	return found
}

// node is a broker as a client reaches it.
type node struct {
	id   kafka.NodeID
	host string
	port int32
}

// coordinator finds the coordinator of a key. The errors for what this release
// lacks are of a kind that clients do not retry.
func (f findCoordinator) coordinator(listener string, kind int8, key string) (node, error) {
	switch kind {
	case groupCoordinator:
		return f.groupCoordinator(listener, key)
	case transactionCoordinator:
		return f.transactionCoordinator(listener, key)
	case shareCoordinator:
		return node{}, kerr.Errorf(kerr.InvalidRequest, "this release of ottla has no share groups: key %q has no coordinator", key)
	}
	return node{}, kerr.Errorf(kerr.InvalidRequest, "%d is not a type of coordinator", kind)
}

func (f findCoordinator) groupCoordinator(listener, id string) (node, error) {
	topic, ok := f.view.Image().TopicNamed(kafka.ConsumerOffsetsTopic)
	if !ok {
		f.groups.MakeTopic()
		return node{}, kerr.Errorf(kerr.CoordinatorNotAvailable, "%s is being created", kafka.ConsumerOffsetsTopic)
	}
	return f.leader(listener, topic, id)
}

// transactionCoordinator finds the broker of Apache Kafka that coordinates a
// transactional id. A partition that has come to one of ours for a while will go
// back to its preferred leader, so clients try again.
func (f findCoordinator) transactionCoordinator(listener, id string) (node, error) {
	topic, ok := f.view.Image().TopicNamed(kafka.TransactionStateTopic)
	if !ok {
		return node{}, kerr.Errorf(kerr.InvalidRequest, "this release of ottla has no transactions: transactional id %q has no coordinator", id)
	}
	found, err := f.leader(listener, topic, id)
	if err != nil {
		return node{}, err
	}
	if b, ok := f.view.Image().Broker(found.id); ok && b.Names(image.DirsFeature) {
		return node{}, kerr.Errorf(kerr.CoordinatorNotAvailable,
			"broker %d leads the partition of %s of transactional id %q, and this release of ottla coordinates no transactions", found.id, topic.Name, id)
	}
	return found, nil
}

// leader finds the leader of the partition of a coordinators' topic that holds a
// key.
func (f findCoordinator) leader(listener string, topic *image.Topic, key string) (node, error) {
	at := kafka.PartitionID(kafka.CoordinatedBy(key, int32(topic.Partitions.Len())))
	if p, ok := topic.Partitions.Get(at); ok {
		if e, ok := f.view.Image().LeaderEndpoint(p, listener); ok {
			return node{p.Leader, e.Host, int32(e.Port)}, nil
		}
	}
	return node{}, kerr.Errorf(kerr.CoordinatorNotAvailable, "%s-%d has no leader on listener %s", topic.Name, at, listener)
}
