package api

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	frerr "github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/metarec"
)

// A client of another make, over a socket: what it negotiates and asks for is
// answered. Everything is one node here, found under its own address.
func TestAnotherClientDescribesTheCluster(t *testing.T) {
	ln := loopback(t)
	addr := ln.Addr().String()
	host, port := splitPort(t, addr)
	r := metarec.NewRegisterBrokerRecord()
	r.BrokerId, r.BrokerEpoch, r.Fenced = 2, 100, false
	r.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: host, Port: port}}
	view := towns(t, append(topicRecords("letters", 0x22, []int32{2}, []int32{2}), r, fence(1), fence(4))...)
	serveOn(t, ln, tableOf(view, nil))

	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RetryTimeout(10*time.Second), kgo.SoftwareNameAndVersion("conversation", "1.0"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	topics, err := admin.ListTopics(t.Context())
	if err != nil || !topics.Has("letters") || len(topics["letters"].Partitions) != 2 {
		t.Errorf("topics %v, %v", topics, err)
	}
	brokers, err := admin.ListBrokers(t.Context())
	if err != nil || len(brokers) != 1 || brokers[0].NodeID != 2 {
		t.Errorf("brokers %v, %v", brokers, err)
	}
	versions, err := admin.ApiVersions(t.Context())
	if err != nil || len(versions) == 0 {
		t.Errorf("versions %v, %v", versions, err)
	}
	described, err := kmsg.NewPtrDescribeACLsRequest().RequestWith(t.Context(), client)
	if err != nil || !errors.Is(frerr.ErrorForCode(described.ErrorCode), frerr.SecurityDisabled) {
		t.Errorf("ACLs %v, %v", described, err)
	}
	scram, err := admin.DescribeUserSCRAMs(t.Context())
	if err != nil || len(scram) != 0 {
		t.Errorf("SCRAM %v, %v", scram, err)
	}
	if _, err := kmsg.NewPtrConsumerGroupHeartbeatRequest().RequestWith(t.Context(), client); err == nil {
		t.Error("a request that is not listed was sent")
	}
}

func fence(id int32) metarec.Message {
	r := metarec.NewBrokerRegistrationChangeRecord()
	r.BrokerId, r.BrokerEpoch, r.Fenced = id, int64(id), 1
	return r
}
