package api

import (
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// listConfigResources answers ListConfigResources (KIP-714, 1142): what has
// configurations. Version 0 asks for client metrics alone.
type listConfigResources struct{ view View }

// listedResources are the types of version 1, in the order of an answer to a
// question for all.
var listedResources = []image.ResourceType{
	image.GroupResource, image.ClientMetrics, image.BrokerLoggerResource, image.BrokerResource, image.TopicResource,
}

func (l listConfigResources) serve(c Context, req *kmsg.ListConfigResourcesRequest) kmsg.Response {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	resp.ConfigResources = []kmsg.ListConfigResourcesResponseConfigResource{}
	types := []image.ResourceType{image.ClientMetrics}
	if req.Version >= 1 {
		types = types[:0]
		for _, t := range req.ResourceTypes {
			types = append(types, image.ResourceType(t))
		}
		if len(types) == 0 {
			types = listedResources
		}
	}
	for _, t := range types {
		if !slices.Contains(listedResources, t) {
			resp.ErrorCode = int16(kerr.UnsupportedVersion)
			return resp
		}
	}
	img := l.view.Image()
	for _, t := range listedResources {
		if !slices.Contains(types, t) {
			continue
		}
		for _, name := range resourcesOf(img, t, c.Conn.Listener) {
			resp.ConfigResources = append(resp.ConfigResources, kmsg.ListConfigResourcesResponseConfigResource{Name: name, Type: int8(t)})
		}
	}
	return resp
}

// resourcesOf names the resources of a type: topics and brokers whether they
// have settings or not, others where something is stored.
func resourcesOf(img *image.Image, t image.ResourceType, listener string) (names []string) {
	switch t {
	case image.TopicResource:
		for name := range img.TopicNames().All() {
			names = append(names, name)
		}
	case image.BrokerResource, image.BrokerLoggerResource:
		for id, b := range img.Brokers().All() {
			if _, ok := b.Endpoint(listener); ok {
				names = append(names, strconv.Itoa(int(id)))
			}
		}
	default:
		for r := range img.Configs().From(image.Resource{Type: t}) {
			if r.Type != t {
				break
			}
			names = append(names, r.Name)
		}
	}
	return names
}
