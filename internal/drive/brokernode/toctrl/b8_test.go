package toctrl

import (
	"context"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// "Brokers have many requests to the controller under way at once."
func TestB8ManyRequestsAreUnderWayAtOnce(t *testing.T) {
	const many = 500
	ctrl, c, got := startController(t), broker(t, nil), gather(t)
	c.Moved(ctrl.at(2, 1))
	for range many {
		c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	}
	waiting := make([]arrived, many) // all have come before one was answered
	for i := range waiting {
		waiting[i] = ctrl.take(t)
	}
	if n := c.metrics.underWay.Load(); n != many {
		t.Errorf("%d under way", n)
	}
	for _, a := range waiting {
		a.answer()
	}
	for range many {
		must(t, got.next(), kerr.None, "")
	}
	if n := c.metrics.underWay.Load(); n != 0 {
		t.Errorf("%d under way at the end", n)
	}
}

// incremental is a request with one change of a kind.
func incremental(op kmsg.IncrementalAlterConfigOp) *kmsg.IncrementalAlterConfigsRequest {
	return &kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Op: kmsg.IncrementalAlterConfigOpSet}, {Op: op}},
	}}}
}

// harmless are clients' requests that may be repeated.
func harmless() []kmsg.Request {
	return []kmsg.Request{
		kmsg.NewPtrDescribeQuorumRequest(),
		kmsg.NewPtrListPartitionReassignmentsRequest(),
		incremental(kmsg.IncrementalAlterConfigOpSet),
		incremental(kmsg.IncrementalAlterConfigOpDelete),
		&kmsg.IncrementalAlterConfigsRequest{ValidateOnly: true, Resources: incremental(kmsg.IncrementalAlterConfigOpAppend).Resources},
		&kmsg.AlterConfigsRequest{ValidateOnly: true},
		&kmsg.CreateTopicsRequest{ValidateOnly: true},
		&kmsg.CreatePartitionsRequest{ValidateOnly: true},
		&kmsg.UpdateFeaturesRequest{ValidateOnly: true},
	}
}

// harmful are clients' requests that may not.
func harmful() []kmsg.Request {
	return []kmsg.Request{
		kmsg.NewPtrCreateTopicsRequest(),
		kmsg.NewPtrDeleteTopicsRequest(),
		kmsg.NewPtrCreatePartitionsRequest(),
		kmsg.NewPtrAlterConfigsRequest(),
		incremental(kmsg.IncrementalAlterConfigOpAppend),
		incremental(kmsg.IncrementalAlterConfigOpSubtract),
		kmsg.NewPtrElectLeadersRequest(),
		kmsg.NewPtrAlterPartitionAssignmentsRequest(),
		kmsg.NewPtrUpdateFeaturesRequest(),
		kmsg.NewPtrUnregisterBrokerRequest(),
		kmsg.NewPtrAlterUserSCRAMCredentialsRequest(),
		kmsg.NewPtrCreateACLsRequest(),
	}
}

// "When a controller of a higher epoch is known, requests in flight to the old
// one are sent again only if repeating them is harmless (ApiVersions, Describe*,
// incremental SET and DELETE, AlterPartition, heartbeats, validate-only)."
func TestB8HarmlessRequestsAreSentAgain(t *testing.T) {
	old, next, c, got := startController(t), startController(t), broker(t, nil), gather(t)
	c.Moved(old.at(2, 1))
	for _, req := range harmless() {
		c.Forward(t.Context(), client, req, got.of())
	}
	ours := []kmsg.Request{kmsg.NewPtrAlterPartitionRequest(), kmsg.NewPtrBrokerHeartbeatRequest(), kmsg.NewPtrApiVersionsRequest()}
	for _, req := range ours[:2] {
		done := got.of()
		go func() { done(c.Do(t.Context(), req)) }()
	}
	all := len(harmless()) + 2
	for range all {
		old.take(t)
	}
	c.Moved(next.at(3, 2))
	for range all {
		next.take(t).answer()
		must(t, got.next(), kerr.None, "")
	}
	if n := int(c.metrics.Repeated.Value()); n != all {
		t.Errorf("%d counted as repeated, not %d", n, all)
	}
	for _, req := range append(harmless(), ours...) {
		if !Repeatable(req) {
			t.Errorf("%T cannot be repeated", req)
		}
	}
}

// "All others are answered at once with REQUEST_TIMED_OUT (7), message: outcome
// unknown, the controller moved."
func TestB8OtherRequestsAreAnsweredAtOnce(t *testing.T) {
	old, next, c, got := startController(t), startController(t), broker(t, nil), gather(t)
	c.Moved(old.at(2, 1))
	for _, req := range harmful() {
		c.Forward(t.Context(), client, req, got.of())
		old.take(t)
	}
	done := got.of()
	go func() { done(c.Do(t.Context(), kmsg.NewPtrAllocateProducerIDsRequest())) }()
	old.take(t)
	c.Moved(next.at(3, 2))
	for range len(harmful()) + 1 {
		must(t, got.next(), kerr.RequestTimedOut, "outcome unknown, the controller moved")
	}
	if n := int(c.metrics.Unknown.Value()); n != len(harmful())+1 {
		t.Errorf("%d counted as unknown", n)
	}
	// What comes now is the first that the new one sees.
	c.Forward(t.Context(), client, incremental(kmsg.IncrementalAlterConfigOpSet), got.of())
	next.take(t).answer()
	must(t, got.next(), kerr.None, "")
	if n := len(next.got); n != 0 {
		t.Errorf("%d more requests came to the new controller", n)
	}
}

// "Late answers of the old one are dropped with their connection."
func TestB8LateAnswersAreDropped(t *testing.T) {
	old, next, c, got := startController(t), startController(t), broker(t, nil), gather(t)
	c.Moved(old.at(2, 1))
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	c.Forward(t.Context(), client, kmsg.NewPtrDescribeQuorumRequest(), got.of())
	late := []arrived{old.take(t), old.take(t)}
	c.Moved(next.at(3, 2))
	must(t, got.next(), kerr.RequestTimedOut, "outcome unknown")
	<-late[0].ctx.Done() // the connection is gone
	for _, a := range late {
		a.answer()
	}
	next.take(t).answer()
	must(t, got.next(), kerr.None, "")
	if n := got.count(); n != 2 {
		t.Errorf("%d answers to 2 requests", n)
	}
}

// A request that was never written to the old controller has had no effect: it
// goes to the new one, whatever it is.
func TestB8WhatWasNotSentGoesToTheNext(t *testing.T) {
	next, got := startController(t), gather(t)
	dialed := make(chan struct{}, 1)
	c := broker(t, func(ctx context.Context, addr string) (net.Conn, error) {
		if addr == "hangs:1" {
			dialed <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	})
	c.Moved(Leader{Node: 2, Epoch: 1, Addr: "hangs:1"})
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	<-dialed
	c.Moved(next.at(3, 2))
	next.take(t).answer()
	must(t, got.next(), kerr.None, "")
}

// An epoch whose leader is not known yet ends nothing: the old controller may
// still answer.
func TestB8AnEpochWithoutAControllerEndsNothing(t *testing.T) {
	old, next, c, got := startController(t), startController(t), broker(t, nil), gather(t)
	c.Moved(old.at(2, 1))
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	first := old.take(t)
	c.Moved(Leader{Node: kafka.NoNode, Epoch: 2})
	c.Forward(t.Context(), client, kmsg.NewPtrDeleteTopicsRequest(), got.of())
	if n := got.count(); n != 0 {
		t.Errorf("%d answers while no controller is known", n)
	}
	first.answer()
	must(t, got.next(), kerr.None, "")
	c.Moved(next.at(3, 2))
	next.take(t).answer()
	must(t, got.next(), kerr.None, "")
}

// A node that leads again answers by itself what it had under way.
func TestB8TheSameNodeKeepsItsRequests(t *testing.T) {
	ctrl, c, got := startController(t), broker(t, nil), gather(t)
	c.Moved(ctrl.at(2, 1))
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	waiting := ctrl.take(t)
	c.Moved(ctrl.at(2, 2))
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	last := ctrl.take(t)
	waiting.answer()
	last.answer()
	for range 2 {
		must(t, got.next(), kerr.None, "")
	}
}
