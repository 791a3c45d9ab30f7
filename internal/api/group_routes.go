package api

import (
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/core/image"
)

// Coordinator is the group coordinator of this broker.
type Coordinator interface {
	// Submit hands over a request; done is called once, from any goroutine,
	// when its reply is filled in.
	Submit(r group.Request, done func())
	// List gathers the groups of all partitions that are led here.
	List(done func([]group.Listed, kerr.Code))
	// MakeTopic has __consumer_offsets created in the background.
	MakeTopic()
}

// GroupDeps is what the APIs of groups and offsets need.
type GroupDeps struct {
	View   View
	Groups Coordinator
}

// GroupRoutes are the APIs of groups and committed offsets, in the order of
// their keys. Those that change something are barriers: who commits and then
// fetches on one connection sees its commit, and a member's requests take
// effect in the order it sent them.
func GroupRoutes(d GroupDeps) []Route {
	return []Route{
		later(2, 10, offsetCommit{d.View, d.Groups}.serve).barrier(),
		later(1, 10, offsetFetch{d.View, d.Groups}.serve),
		route(0, 6, findCoordinator{d.View, d.Groups}.serve),
		later(0, 9, joinGroup{d.Groups}.serve).barrier(),
		later(0, 4, heartbeat{d.Groups}.serve).barrier(),
		later(0, 5, leaveGroup{d.Groups}.serve).barrier(),
		later(0, 5, syncGroup{d.Groups}.serve).barrier(),
		later(0, 6, describeGroups{d.Groups}.serve),
		later(0, 5, listGroups{d.Groups}.serve),
		later(0, 3, deleteGroups{d.Groups}.serve).barrier(),
		later(0, 0, offsetDelete{d.View, d.Groups}.serve).barrier(),
	}
}

// gather submits several requests and calls done after the last answer.
func gather(c Coordinator, requests []group.Request, done func()) {
	if len(requests) == 0 {
		done()
		return
	}
	var left atomic.Int64
	left.Store(int64(len(requests)))
	for _, r := range requests {
		c.Submit(r, func() {
			if left.Add(-1) == 0 {
				done()
			}
		})
	}
}

// allGroupOperations are the operations on a group without an authorizer.
const allGroupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// orNil is nil for "".
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orEmpty is "" for nil.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// topicRef is a topic as a request names it: by name, or by id from some version
// on.
type topicRef struct {
	name string
	id   kafka.TopicID
	// known is nil where the topic does not exist, with code saying so.
	known *image.Topic
	code  kerr.Code
}

// findTopic looks a topic up, by id where byID says so.
func findTopic(img *image.Image, byID bool, name string, id kafka.TopicID) topicRef {
	ref := topicRef{name: name, id: id, code: kerr.UnknownTopicOrPartition}
	var ok bool
	if byID {
		ref.code = kerr.UnknownTopicId
		ref.known, ok = img.TopicByID(id)
	} else {
		ref.known, ok = img.TopicNamed(name)
	}
	if !ok {
		ref.known = nil
		return ref
	}
	ref.name, ref.code = ref.known.Name, kerr.None
	return ref
}

// partition gives the code for one of the topic's partitions.
func (t topicRef) partition(p int32) kerr.Code {
	if t.known == nil {
		return t.code
	}
	if p < 0 || int(p) >= t.known.Partitions.Len() {
		return kerr.UnknownTopicOrPartition
	}
	return kerr.None
}
