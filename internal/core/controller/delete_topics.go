package controller

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// TopicRef names a topic by name or by id.
type TopicRef struct {
	Name string        // empty: by id
	ID   kafka.TopicID // zero: by name
}

// DeletedTopic is the answer for one topic.
type DeletedTopic struct {
	Name string // empty if only an unknown id is known
	ID   kafka.TopicID
	Err  error
}

// DeleteTopics deletes topics with their partitions and configurations. Each is
// deleted or refused by itself; the good ones come in one batch.
func DeleteTopics(img *image.Image, soft *Soft, want []TopicRef, budget *Budget) Decision[[]DeletedTopic] {
	if !soft.Settings.DeleteTopics {
		return refusef[[]DeletedTopic](kerr.TopicDeletionDisabled, "topic deletion is disabled by delete.topic.enable=false")
	}
	d := draftOn(img)
	gone := map[kafka.TopicID]bool{}
	replies := make([]DeletedTopic, 0, len(want))
	for _, ref := range want {
		t, err := find(img, ref)
		reply := DeletedTopic{Name: ref.Name, ID: ref.ID, Err: err}
		if err == nil {
			reply.Name, reply.ID = t.Name, t.ID
			switch {
			case gone[t.ID]:
				reply.Err = kerr.Errorf(kerr.InvalidRequest, "topic %q stands more than once in the request", t.Name)
			default:
				if reply.Err = budget.take(t.Partitions.Len()); reply.Err == nil {
					gone[t.ID] = true
					d.add(&metarec.RemoveTopicRecord{TopicId: t.ID})
				}
			}
		}
		replies = append(replies, reply)
	}
	return spend(bounded(atomically(d, replies)), soft, budget)
}

func find(img *image.Image, ref TopicRef) (*image.Topic, error) {
	switch {
	case ref.Name == "" && ref.ID.IsZero():
		return nil, kerr.Errorf(kerr.InvalidRequest, "neither topic name nor id were specified")
	case ref.Name != "" && !ref.ID.IsZero():
		return nil, kerr.Errorf(kerr.InvalidRequest, "topic name and topic id can not both be specified: %q, %v", ref.Name, ref.ID)
	case ref.Name != "":
		if t, ok := img.TopicNamed(ref.Name); ok {
			return t, nil
		}
		return nil, kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q does not exist", ref.Name)
	}
	if t, ok := img.TopicByID(ref.ID); ok {
		return t, nil
	}
	return nil, kerr.Errorf(kerr.UnknownTopicId, "no topic has id %v", ref.ID)
}
