package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/edge/transport"
)

var errTopicDenied = &kerr.Error{Code: kerr.TopicAuthorizationFailed, Message: "Topic authorization failed."}

// splitCreateTopics: whoever may create in the cluster may create every topic. Its
// settings are told to those who may see them.
func splitCreateTopics(a *Access, r *transport.Request) (kmsg.Request, func(kmsg.Response)) {
	rest := *r.Body.(*kmsg.CreateTopicsRequest)
	var denied []kmsg.CreateTopicsRequestTopic
	if !a.allows(r, auth.Create, auth.TheCluster) {
		rest.Topics, denied = sorted(rest.Topics, func(t kmsg.CreateTopicsRequestTopic) bool { return a.allowsTopic(r, auth.Create, t.Topic) })
	}
	return &rest, func(resp kmsg.Response) {
		created := resp.(*kmsg.CreateTopicsResponse)
		for i := range created.Topics {
			if t := &created.Topics[i]; t.ErrorCode == 0 && !a.allowsTopic(r, auth.DescribeConfigs, t.Topic) {
				t.NumPartitions, t.ReplicationFactor, t.Configs = -1, -1, []kmsg.CreateTopicsResponseTopicConfig{}
				t.ConfigErrorCode = int16(kerr.TopicAuthorizationFailed)
			}
		}
		for _, name := range namesOnce(denied) {
			created.Topics = append(created.Topics, refusedTopic(name, errTopicDenied))
		}
	}
}

// splitDeleteTopics: a topic that the sender may not see is not shown to exist, nor is
// its name where only the id was given.
func splitDeleteTopics(a *Access, r *transport.Request) (kmsg.Request, func(kmsg.Response)) {
	rest := *r.Body.(*kmsg.DeleteTopicsRequest)
	mayDelete := func(name string) bool {
		return a.allowsTopic(r, auth.Describe, name) && a.allowsTopic(r, auth.Delete, name)
	}
	names, deniedNames := sorted(rest.TopicNames, mayDelete)
	nameOf := func(t kmsg.DeleteTopicsRequestTopic) (string, bool) {
		if t.Topic != nil {
			return *t.Topic, true
		}
		topic, ok := a.View.Image().TopicByID(kafka.TopicID(t.TopicID))
		if !ok {
			return "", false // its answer tells nothing
		}
		return topic.Name, true
	}
	topics, denied := sorted(rest.Topics, func(t kmsg.DeleteTopicsRequestTopic) bool {
		name, known := nameOf(t)
		return !known || mayDelete(name)
	})
	rest.TopicNames, rest.Topics = names, topics
	return &rest, func(resp kmsg.Response) {
		deleted := resp.(*kmsg.DeleteTopicsResponse)
		refuse := func(name *string, id [16]byte) {
			t := kmsg.NewDeleteTopicsResponseTopic()
			t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = name, id, code(errTopicDenied), kerr.Message(errTopicDenied)
			deleted.Topics = append(deleted.Topics, t)
		}
		for i := range deniedNames {
			refuse(&deniedNames[i], [16]byte{})
		}
		for _, t := range denied {
			if name, _ := nameOf(t); t.Topic == nil && a.allowsTopic(r, auth.Describe, name) {
				refuse(&name, t.TopicID)
			} else {
				refuse(t.Topic, t.TopicID)
			}
		}
	}
}

func splitCreatePartitions(a *Access, r *transport.Request) (kmsg.Request, func(kmsg.Response)) {
	rest := *r.Body.(*kmsg.CreatePartitionsRequest)
	var denied []kmsg.CreatePartitionsRequestTopic
	rest.Topics, denied = sorted(rest.Topics, func(t kmsg.CreatePartitionsRequestTopic) bool { return a.allowsTopic(r, auth.Alter, t.Topic) })
	return &rest, func(resp kmsg.Response) {
		grown := resp.(*kmsg.CreatePartitionsResponse)
		for _, t := range distinct(denied, func(t *kmsg.CreatePartitionsRequestTopic) string { return t.Topic }) {
			one := kmsg.NewCreatePartitionsResponseTopic()
			one.Topic, one.ErrorCode, one.ErrorMessage = t.Topic, code(errTopicDenied), kerr.Message(errTopicDenied)
			grown.Topics = append(grown.Topics, one)
		}
	}
}
