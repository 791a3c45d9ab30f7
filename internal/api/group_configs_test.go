package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// Settings of groups are checked by the controller and stored for the coordinators,
// whatever group.version is.
func TestSettingsOfGroupsAreStored(t *testing.T) {
	q := newControlRig(t)
	f := func(group, key, value string, code kerr.Code) {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: group,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Value: &value}},
		}}
		resp := submit[*kmsg.IncrementalAlterConfigsResponse](q, 1, req)
		wantCode(t, key, resp.Resources[0].ErrorCode, code)
		stored, ok := q.Image().Config(image.Resource{Type: image.GroupResource, Name: group}).Get(key)
		if ok != (code == kerr.None) || ok && stored != value {
			t.Errorf("%s of %q is %q, stored %v", key, group, stored, ok)
		}
	}
	f("g", "consumer.session.timeout.ms", "46000", kerr.None)
	f("g", "share.auto.offset.reset", "by_duration:PT1H", kerr.None)
	f("g", "streams.session.timeout.ms", "1", kerr.InvalidConfig)
	f("g", "no.such.key", "1", kerr.InvalidConfig)
	f("", "consumer.heartbeat.interval.ms", "6000", kerr.InvalidRequest)
}
