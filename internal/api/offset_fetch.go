package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetFetch answers OffsetFetch: for one group before version 8, for several
// since then.
type offsetFetch struct {
	view   View
	groups Coordinator
}

func (h offsetFetch) serve(_ Context, req *kmsg.OffsetFetchRequest, reply func(kmsg.Response)) {
	img := h.view.Image()
	if req.Version < 8 {
		fetch := oneGroup(img, req)
		if fetch.Err != kerr.None {
			reply(oneGroupResponse(req, fetch))
			return
		}
		h.groups.Submit(fetch, func() { reply(oneGroupResponse(req, fetch)) })
		return
	}
	if placesNamed(req.Groups) > maxNamed {
		reply(tooManyToFetch(req.Groups))
		return
	}
	groups := distinct(req.Groups, func(g *kmsg.OffsetFetchRequestGroup) string { return g.Group })
	fetches := make([]group.Request, len(groups))
	for i := range groups {
		groups[i].Topics = offsetsOnce(groups[i].Topics)
		fetches[i] = fetchOf(img, req, &groups[i])
	}
	gather(h.groups, fetches, func() {
		resp := kmsg.NewPtrOffsetFetchResponse()
		for i := range groups {
			resp.Groups = append(resp.Groups, fetchedGroup(h.view.Image(), req, &groups[i], fetches[i].(*group.FetchOffsets)))
		}
		reply(resp)
	})
}

// placesNamed counts what a request of version 8 and later names.
func placesNamed(groups []kmsg.OffsetFetchRequestGroup) int {
	n := len(groups)
	for i := range groups {
		n += len(groups[i].Topics)
		for j := range groups[i].Topics {
			n += len(groups[i].Topics[j].Partitions)
		}
	}
	return n
}

// tooManyToFetch refuses the first groups, maxNamed at most, which stand for the
// rest.
func tooManyToFetch(groups []kmsg.OffsetFetchRequestGroup) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	for _, g := range groups[:min(len(groups), maxNamed)] {
		resp.Groups = append(resp.Groups, kmsg.OffsetFetchResponseGroup{Group: g.Group, ErrorCode: int16(kerr.InvalidRequest)})
	}
	return resp
}

// offsetsOnce leaves out the second and later mentions of a partition: each
// would be answered with the metadata that was committed with it.
func offsetsOnce(topics []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchRequestGroupTopic {
	if topics == nil {
		return nil // all
	}
	once := make([]kmsg.OffsetFetchRequestGroupTopic, len(topics))
	seen := map[kafka.TopicPartition]struct{}{}
	for i, t := range topics {
		name := t.Topic
		if name == "" {
			name = string(t.TopicID[:])
		}
		t.Partitions = partitionsOnce(seen, name, t.Partitions)
		once[i] = t
	}
	return once
}

// oneGroup is the request of versions 1 to 7. No topics mean all of them since
// version 2. Of too many partitions the first maxNamed are refused.
func oneGroup(img *image.Image, req *kmsg.OffsetFetchRequest) *group.FetchOffsets {
	fetch := &group.FetchOffsets{
		Call: group.Call{Group: req.Group}, Stable: req.RequireStable,
		All: req.Topics == nil && req.Version >= 2, Current: topicIDs(img),
	}
	seen := map[kafka.TopicPartition]struct{}{}
	for i := range req.Topics {
		t := &req.Topics[i]
		for _, p := range partitionsOnce(seen, t.Topic, t.Partitions) {
			if len(fetch.Offsets) == maxNamed {
				fetch.Err = kerr.InvalidRequest
				return fetch
			}
			fetch.Offsets = append(fetch.Offsets, fetchAt(t.Topic, p))
		}
	}
	return fetch
}

// topicIDs gives the ids of topics by their names, zero for one that is not
// there.
func topicIDs(img *image.Image) func(name string) kafka.TopicID {
	return func(name string) kafka.TopicID {
		if t, ok := img.TopicNamed(name); ok {
			return t.ID
		}
		return kafka.TopicID{}
	}
}

func fetchAt(topic string, p int32) group.FetchOffset {
	return group.FetchOffset{TopicPartition: kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(p)}}
}

func oneGroupResponse(req *kmsg.OffsetFetchRequest, fetch *group.FetchOffsets) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	if resp.ErrorCode = int16(fetch.Err); fetch.Err != kerr.None && req.Version >= 2 {
		return resp
	}
	for _, topic := range byTopic(fetch.Offsets) {
		out := kmsg.NewOffsetFetchResponseTopic()
		out.Topic = topic[0].Topic
		for i := range topic {
			f := &topic[i]
			code := f.Err
			if fetch.Err != kerr.None { // version 1 has no place for it but here
				f.Offset, code = kafka.NoOffset, fetch.Err
			}
			out.Partitions = append(out.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: int32(f.Partition), Offset: int64(f.Offset), LeaderEpoch: int32(f.LeaderEpoch),
				Metadata: &f.Metadata, ErrorCode: int16(code),
			})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// byTopic cuts a list into runs of the same topic.
func byTopic(offsets []group.FetchOffset) [][]group.FetchOffset {
	var runs [][]group.FetchOffset
	for from, i := 0, 0; i < len(offsets); i++ {
		if i+1 == len(offsets) || offsets[i+1].Topic != offsets[from].Topic {
			runs = append(runs, offsets[from:i+1])
			from = i + 1
		}
	}
	return runs
}

// fetchOf is one group of a request of version 8 and later.
func fetchOf(img *image.Image, req *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) *group.FetchOffsets {
	fetch := &group.FetchOffsets{
		Call: group.Call{Group: g.Group}, Stable: req.RequireStable,
		All: g.Topics == nil, Current: topicIDs(img),
	}
	for i := range g.Topics {
		t := &g.Topics[i]
		name, code := t.Topic, kerr.None
		if req.Version >= 10 {
			ref := findTopic(img, true, "", t.TopicID)
			name, code = ref.name, ref.code
		}
		for _, p := range t.Partitions {
			at := fetchAt(name, p)
			at.Err = code
			fetch.Offsets = append(fetch.Offsets, at)
		}
	}
	return fetch
}

func fetchedGroup(img *image.Image, req *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup, fetch *group.FetchOffsets) kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group, out.ErrorCode = g.Group, int16(fetch.Err)
	switch {
	case fetch.Err != kerr.None:
	case fetch.All:
		for _, topic := range byTopic(fetch.Offsets) {
			ref := findTopic(img, false, topic[0].Topic, kafka.TopicID{})
			if ref.known == nil && req.Version >= 10 {
				continue // gone, so it has no id to be shown by
			}
			t := fetchedTopic(topic)
			if t.Topic = ref.name; ref.known != nil {
				t.TopicID = ref.known.ID
			}
			out.Topics = append(out.Topics, t)
		}
	default:
		rest := fetch.Offsets
		for i := range g.Topics {
			n := len(g.Topics[i].Partitions)
			t := fetchedTopic(rest[:n])
			t.Topic, t.TopicID = g.Topics[i].Topic, g.Topics[i].TopicID
			out.Topics = append(out.Topics, t)
			rest = rest[n:]
		}
	}
	return out
}

func fetchedTopic(offsets []group.FetchOffset) kmsg.OffsetFetchResponseGroupTopic {
	t := kmsg.NewOffsetFetchResponseGroupTopic()
	for i := range offsets {
		f := &offsets[i]
		t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{
			Partition: int32(f.Partition), Offset: int64(f.Offset), LeaderEpoch: int32(f.LeaderEpoch),
			Metadata: &f.Metadata, ErrorCode: int16(f.Err),
		})
	}
	return t
}
