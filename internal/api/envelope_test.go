package api

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// creating is a controller's table with one forwarded route, which names who
// asked in its answer, and one that is not forwarded.
func creating() *Table {
	var table *Table
	create := later(2, 7, func(c Context, req *kmsg.CreateTopicsRequest, reply func(kmsg.Response)) {
		resp := kmsg.NewPtrCreateTopicsResponse()
		for _, t := range req.Topics {
			one := kmsg.NewCreateTopicsResponseTopic()
			one.Topic = t.Topic
			one.ErrorMessage = kmsg.StringPtr(fmt.Sprint(c.Conn.Principal, " ", c.ClientID, " from ", c.Conn.ClientHost, " by token ", c.Conn.TokenAuthenticated))
			resp.Topics = append(resp.Topics, one)
		}
		resp.SetVersion(req.Version)
		reply(resp)
	}).on(OnController).forwarded()
	heartbeat := later(0, 1, func(_ Context, _ *kmsg.BrokerHeartbeatRequest, reply func(kmsg.Response)) {
		reply(kmsg.NewPtrBrokerHeartbeatResponse())
	}).on(OnController)
	table = NewTable(OnController, About{}, []Route{create, heartbeat})
	return table
}

func open(t *testing.T, sealed *kmsg.EnvelopeRequest) *kmsg.EnvelopeResponse {
	t.Helper()
	return unwrap(t, creating(), sealed)
}

// unwrap has a controller with a table of routes serve an envelope.
func unwrap(t testing.TB, table *Table, sealed *kmsg.EnvelopeRequest) *kmsg.EnvelopeResponse {
	t.Helper()
	var got *kmsg.EnvelopeResponse
	c := Context{&transport.Request{Conn: &transport.ConnInfo{Principal: "User:broker"}, Ctx: context.Background()}}
	envelope{table}.serve(c, sealed, func(resp kmsg.Response) { got = resp.(*kmsg.EnvelopeResponse) })
	if got == nil {
		t.Fatal("no answer")
	}
	return got
}

// alice is a client in tests.
func alice(host string) transport.Caller {
	return transport.Caller{ConnInfo: &transport.ConnInfo{Principal: "User:alice", ClientHost: host}, ClientID: "cli"}
}

func createRequest(version int16) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = version
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	req.Topics = append(req.Topics, topic)
	return req
}

func TestAForwardedRequestIsServedAsTheClientThatSentIt(t *testing.T) {
	for version := int16(2); version <= 7; version++ {
		req := createRequest(version)
		answer := open(t, Seal(alice("10.0.0.7"), req))
		sealed, err := Unseal(req, answer)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		resp, err := opened(sealed)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if whole := resp.AppendTo(nil); !bytes.Equal(sealed.AppendTo(nil), whole) {
			t.Errorf("version %d: relayed are %x, not %x", version, sealed.AppendTo(nil), whole)
		}
		topic := resp.(*kmsg.CreateTopicsResponse).Topics[0]
		if topic.Topic != "t" || *topic.ErrorMessage != "User:alice cli from 10.0.0.7 by token false" {
			t.Errorf("version %d: %+v", version, topic)
		}
	}
}

// "The inner request is then authorized and quota-accounted as the original principal
// and address": whatever the principal's type, and with its client id.
func TestWhoSentAForwardedRequestIsKept(t *testing.T) {
	f := func(from transport.Caller, want string) {
		t.Helper()
		req := createRequest(7)
		answer, err := Unseal(req, open(t, Seal(from, req)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := opened(answer)
		if err != nil {
			t.Fatal(err)
		}
		if got := *resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorMessage; got != want {
			t.Errorf("served as %q, want %q", got, want)
		}
	}
	sent := func(principal string, byToken bool, clientID string) transport.Caller {
		return transport.Caller{
			ConnInfo: &transport.ConnInfo{Principal: principal, ClientHost: "::1", TokenAuthenticated: byToken}, ClientID: clientID,
		}
	}
	f(sent("User:alice", false, "cli"), "User:alice cli from ::1 by token false")
	f(sent("User:alice", true, ""), "User:alice  from ::1 by token true")
	f(sent("Role:User:alice", false, "é"), "Role:User:alice é from ::1 by token false")
	f(sent("User:", false, "cli"), "User: cli from ::1 by token false")
	f(sent("alice", false, "cli"), "User:alice cli from ::1 by token false")
}

func TestAnEnvelopeThatIsNotInOrderIsRefused(t *testing.T) {
	from := alice("::1")
	f := func(name string, want kerr.Code, change func(*kmsg.EnvelopeRequest)) {
		t.Helper()
		sealed := Seal(from, createRequest(7))
		change(sealed)
		if got := kerr.Code(open(t, sealed).ErrorCode); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f("whole", kerr.None, func(*kmsg.EnvelopeRequest) {})
	f("no principal", kerr.PrincipalDeserializationFailure, func(e *kmsg.EnvelopeRequest) { e.RequestPrincipal = nil })
	f("principal cut short", kerr.PrincipalDeserializationFailure, func(e *kmsg.EnvelopeRequest) { e.RequestPrincipal = e.RequestPrincipal[:4] })
	f("address of 3 bytes", kerr.InvalidRequest, func(e *kmsg.EnvelopeRequest) { e.ClientHostAddress = []byte{1, 2, 3} })
	f("request cut short", kerr.UnsupportedVersion, func(e *kmsg.EnvelopeRequest) { e.RequestData = e.RequestData[:len(e.RequestData)-4] })
	f("a version that is not served", kerr.UnsupportedVersion, func(e *kmsg.EnvelopeRequest) { e.RequestData = Seal(from, createRequest(1)).RequestData })
	f("no request", kerr.UnsupportedVersion, func(e *kmsg.EnvelopeRequest) { e.RequestData = nil })
	f("an API that is not forwarded", kerr.InvalidRequest, func(e *kmsg.EnvelopeRequest) {
		e.RequestData = Seal(from, kmsg.NewPtrBrokerHeartbeatRequest()).RequestData
	})
}

// "If the inner response contains NOT_CONTROLLER anywhere, the envelope carries
// error 41 and no data", and so for DescribeQuorum with NOT_LEADER_OR_FOLLOWER. In
// the entries of AlterPartition the code means something else.
func TestAnAnswerOfTheWrongNodeIsNotTheClients(t *testing.T) {
	f := func(want bool, resp kmsg.Response) {
		t.Helper()
		if got := Elsewhere(resp); got != want {
			t.Errorf("%T: elsewhere %v", resp, got)
		}
	}
	wrong := int16(kerr.NotController)
	f(true, &kmsg.CreateTopicsResponse{Topics: []kmsg.CreateTopicsResponseTopic{{}, {ErrorCode: wrong}}})
	f(false, &kmsg.CreateTopicsResponse{Topics: []kmsg.CreateTopicsResponseTopic{{}, {ErrorCode: 36}}})
	f(true, &kmsg.UpdateFeaturesResponse{ErrorCode: wrong})
	f(true, &kmsg.BrokerHeartbeatResponse{ErrorCode: wrong})
	f(true, &kmsg.AlterPartitionResponse{ErrorCode: wrong})
	f(false, &kmsg.AlterPartitionResponse{Topics: []kmsg.AlterPartitionResponseTopic{{
		Partitions: []kmsg.AlterPartitionResponseTopicPartition{{ErrorCode: wrong}},
	}}})
	f(true, &kmsg.DescribeQuorumResponse{Topics: []kmsg.DescribeQuorumResponseTopic{{
		Partitions: []kmsg.DescribeQuorumResponseTopicPartition{{ErrorCode: int16(kerr.NotLeaderOrFollower)}},
	}}})

	standby := later(2, 7, func(_ Context, req *kmsg.CreateTopicsRequest, reply func(kmsg.Response)) {
		reply(refusal(req, kerr.Errorf(kerr.NotController, "the active controller is 3")))
	}).on(OnController).forwarded()
	req := createRequest(7)
	var got *kmsg.EnvelopeResponse
	c := Context{&transport.Request{Conn: &transport.ConnInfo{}, Ctx: context.Background()}}
	envelope{NewTable(OnController, About{}, []Route{standby})}.serve(c, Seal(alice(""), req), func(resp kmsg.Response) {
		got = resp.(*kmsg.EnvelopeResponse)
	})
	if kerr.Code(got.ErrorCode) != kerr.NotController || got.ResponseData != nil {
		t.Errorf("the envelope carries %v and %d bytes", kerr.Code(got.ErrorCode), len(got.ResponseData))
	}
}
