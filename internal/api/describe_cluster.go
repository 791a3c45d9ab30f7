package api

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The endpoint types of DescribeCluster (KIP-919).
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// describeCluster answers DescribeCluster: on a broker's listener with the
// brokers, on a controller's with the controllers.
type describeCluster struct {
	view      View
	clusterID string
	self      kafka.NodeID
	serves    int8                // brokerEndpoints or controllerEndpoints
	leader    func() kafka.NodeID // of the quorum; asked on a controller's listener only
}

func (d describeCluster) serve(c Context, req *kmsg.DescribeClusterRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.ControllerID = int32(kafka.NoNode)
	resp.ClusterAuthorizedOperations = noOperations
	resp.Brokers = []kmsg.DescribeClusterResponseBroker{}
	img := d.view.Image()
	if err := d.check(img, req); err != nil {
		resp.ErrorCode, resp.ErrorMessage = int16(kerr.Of(err)), kerr.Message(err)
		return resp
	}
	resp.ClusterID, resp.EndpointType = d.clusterID, d.serves
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = allClusterOperations
	}
	if d.serves == controllerEndpoints {
		if leader := d.leader(); registered(img, leader) {
			resp.ControllerID = int32(leader)
		}
		resp.Brokers = append(resp.Brokers, controllersOn(img, c.Conn.Listener)...)
		return resp
	}
	for id, b := range img.Brokers().All() {
		e, ok := b.Endpoint(c.Conn.Listener)
		if !ok || b.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		resp.Brokers = append(resp.Brokers, kmsg.DescribeClusterResponseBroker{
			NodeID: int32(id), Host: e.Host, Port: int32(e.Port), Rack: b.Rack, IsFenced: b.Fenced,
		})
		if !b.Fenced && (resp.ControllerID == int32(kafka.NoNode) || id == d.self) {
			resp.ControllerID = int32(id)
		}
	}
	return resp
}

// check refuses a question for the endpoints of the other kind, which clients before
// v1 cannot say that they have asked, and for controllers in a cluster that knows of
// none.
func (d describeCluster) check(img *image.Image, req *kmsg.DescribeClusterRequest) error {
	if err := d.checkType(req.EndpointType); err != nil {
		if req.Version < 1 {
			return kerr.Errorf(kerr.InvalidRequest, "%s", *kerr.Message(err))
		}
		return err
	}
	if d.serves == controllerEndpoints && img.Level() < image.LevelControllers {
		return kerr.Errorf(kerr.UnsupportedVersion, "Direct-to-controller communication is not supported with the current MetadataVersion.")
	}
	return nil
}

func (d describeCluster) checkType(want int8) error {
	names := map[int8]string{brokerEndpoints: "BROKER", controllerEndpoints: "CONTROLLER"}
	switch {
	case want == d.serves:
		return nil
	case names[want] == "":
		return kerr.Errorf(kerr.UnsupportedEndpointType, "Unsupported endpoint type %d", want)
	}
	return &kerr.Error{Code: kerr.MismatchedEndpointType, Message: fmt.Sprintf(
		"The request was sent to an endpoint of type %s, but we wanted an endpoint of type %s", names[d.serves], names[want])}
}

func registered(img *image.Image, controller kafka.NodeID) bool {
	_, ok := img.Controller(controller)
	return ok
}

func controllersOn(img *image.Image, listener string) []kmsg.DescribeClusterResponseBroker {
	var list []kmsg.DescribeClusterResponseBroker
	for id, ctl := range img.Controllers().All() {
		if e, ok := ctl.Endpoint(listener); ok {
			list = append(list, kmsg.DescribeClusterResponseBroker{NodeID: int32(id), Host: e.Host, Port: int32(e.Port)})
		}
	}
	return list
}
