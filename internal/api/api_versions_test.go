package api

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// KIP-511: a version newer than ours is answered in the oldest form with the
// range to choose from, byte for byte as Apache Kafka 4.4.0 does, and the
// connection stays open for the next try.
func TestApiVersionsNewerThanTheServer(t *testing.T) {
	addr := serveTable(t, tableOf(towns(t), nil))
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	send := func(frame string) []byte {
		t.Helper()
		raw, _ := hex.DecodeString(frame)
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 4)
		if _, err := io.ReadFull(c, head); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(c, answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	got := send("0012" + "0063" + "00000007" + "0005" + "6661637473" + "00")
	if want := "00000007" + "0023" + "00000001" + "0012" + "0000" + "0005"; hex.EncodeToString(got) != want {
		t.Errorf("version 99: %x, want %s", got, want)
	}
	software := "02" + "78" + "02" + "31" + "00" // "x", "1", no tags
	for version, frame := range map[int16]string{
		3: "0012" + "0003" + "00000008" + "ffff" + "00" + software,
		4: "0012" + "0004" + "00000008" + "ffff" + "00" + software,
		0: "0012" + "0000" + "00000008" + "ffff",
	} {
		// "In all versions the 4 bytes after the length are the correlation id
		// and the next 2 the error code."
		if got := send(frame); hex.EncodeToString(got[:6]) != "00000008"+"0000" {
			t.Errorf("version %d: begins with %x", version, got[:6])
		}
	}
}

func askVersions(t *testing.T, table *Table, version int16, change func(*kmsg.ApiVersionsRequest)) *kmsg.ApiVersionsResponse {
	t.Helper()
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "test", "1.0"
	if change != nil {
		change(req)
	}
	return ask[*kmsg.ApiVersionsResponse](t, table, "PLAINTEXT", req, version)
}

// ApiVersions lists what the table finds, no more and no less.
func TestApiVersionsTellsTheTruth(t *testing.T) {
	for _, scope := range []Scope{OnBroker, OnController} {
		view := towns(t)
		table := NewTable(scope, aboutOf(view), ClusterRoutes(ClusterDeps{View: view}))
		listed := map[int16]kmsg.ApiVersionsResponseApiKey{}
		last := int16(-1)
		for _, k := range askVersions(t, table, 4, nil).ApiKeys {
			if k.ApiKey <= last {
				t.Errorf("key %d after %d", k.ApiKey, last)
			}
			last, listed[k.ApiKey] = k.ApiKey, k
		}
		for key := range int16(120) {
			for version := range int16(30) {
				if key == keyApiVersions && version > 5 {
					continue // answered, with an error
				}
				k, ok := listed[key]
				want := ok && k.MinVersion <= version && version <= k.MaxVersion
				if _, served := table.Find(key, version); served != want {
					t.Errorf("scope %d key %d version %d: listed %v, served %v", scope, key, version, want, served)
				}
			}
		}
	}
}

// KAFKA-18659: Produce is listed from 0 and served from 3.
func TestProduceIsListedFromZero(t *testing.T) {
	view := towns(t)
	produce := raw(0, 3, 13, func(_ *transport.Request, reply func(transport.Reply)) { reply(transport.None) }).recycle().listedFrom(0)
	table := NewTable(OnBroker, aboutOf(view), []Route{produce})
	if k := askVersions(t, table, 3, nil).ApiKeys[0]; k.MinVersion != 0 || k.MaxVersion != 13 {
		t.Errorf("listed %+v", k)
	}
	for version := range int16(3) {
		if _, ok := table.Find(0, version); ok {
			t.Errorf("version %d is served", version)
		}
	}
}

// "For forwardable APIs a broker advertises the intersection of its own range
// with the active controller's range."
func TestForwardedRangesFollowTheController(t *testing.T) {
	view := towns(t)
	about := aboutOf(view)
	about.Controller = func(key int16) (int16, int16, bool) {
		switch key {
		case 19:
			return 5, 6, true
		case 20:
			return 9, 9, true
		}
		return 0, 0, false
	}
	nothing := func(_ *transport.Request, reply func(transport.Reply)) { reply(transport.None) }
	table := NewTable(OnBroker, about, []Route{
		raw(19, 2, 7, nothing).forwarded(), raw(20, 1, 6, nothing).forwarded(),
		raw(37, 0, 3, nothing).forwarded(), raw(42, 0, 3, nothing),
	})
	want := []kmsg.ApiVersionsResponseApiKey{
		{ApiKey: 18, MinVersion: 0, MaxVersion: 5}, {ApiKey: 19, MinVersion: 5, MaxVersion: 6},
		{ApiKey: 37, MinVersion: 0, MaxVersion: 3}, {ApiKey: 42, MinVersion: 0, MaxVersion: 3},
	}
	if diff := cmp.Diff(want, askVersions(t, table, 2, nil).ApiKeys, noTags); diff != "" {
		t.Error(diff)
	}
}

// KAFKA-17011: "versions < 4 must not show a supported feature whose minimum is
// 0". A feature that has no level but 0 is never shown.
func TestFeaturesByVersion(t *testing.T) {
	table := tableOf(towns(t), nil)
	f := func(version int16, want string) {
		t.Helper()
		resp, supported := askVersions(t, table, version, nil), ""
		for _, s := range resp.SupportedFeatures {
			supported += s.Name + " "
		}
		if supported != want {
			t.Errorf("v%d: supported %q, want %q", version, supported, want)
		}
		if version < 3 {
			return
		}
		levels := map[string]int16{}
		for _, l := range resp.FinalizedFeatures {
			levels[l.Name] = l.MaxVersionLevel
			if l.MinVersionLevel != l.MaxVersionLevel {
				t.Errorf("v%d: finalized %+v", version, l)
			}
		}
		if diff := cmp.Diff(map[string]int16{image.MetadataVersion: 33, image.ElrVersion: 1, image.KRaftVersion: 1}, levels); diff != "" {
			t.Errorf("v%d: finalized %s", version, diff)
		}
		if resp.FinalizedFeaturesEpoch != int64(towns(t).img.Provenance().Offset) {
			t.Errorf("v%d: epoch %d", version, resp.FinalizedFeaturesEpoch)
		}
	}
	f(0, "")
	f(2, "")
	f(3, "metadata.version ")
	f(4, "metadata.version kraft.version ")
	f(5, "metadata.version kraft.version ")
}

// Before the first metadata arrives the epoch is unknown.
func TestFeaturesBeforeTheFirstImage(t *testing.T) {
	resp := askVersions(t, tableOf(still{image.Empty()}, nil), 4, nil)
	if resp.FinalizedFeaturesEpoch != -1 || resp.ErrorCode != 0 {
		t.Errorf("epoch %d error %d", resp.FinalizedFeaturesEpoch, resp.ErrorCode)
	}
}

func TestApiVersionsRefusals(t *testing.T) {
	table := tableOf(towns(t), nil)
	f := func(version int16, want kerr.Code, change func(*kmsg.ApiVersionsRequest)) {
		t.Helper()
		if got := askVersions(t, table, version, change).ErrorCode; kerr.Code(got) != want {
			t.Errorf("v%d: %v, want %v", version, kerr.Code(got), want)
		}
	}
	for word, want := range map[string]kerr.Code{
		"apache-kafka-java": kerr.None, "x": kerr.None, "1.2-rc.3": kerr.None,
		"": kerr.InvalidRequest, "-x": kerr.InvalidRequest, "x.": kerr.InvalidRequest, "a b": kerr.InvalidRequest, "é": kerr.InvalidRequest,
	} {
		f(3, want, func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareName = word })
		f(4, want, func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareVersion = word })
	}
	// KIP-1242: a client names the cluster and the node it means.
	mean := func(cluster *string, node int32) func(*kmsg.ApiVersionsRequest) {
		return func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = cluster, node }
	}
	f(5, kerr.None, mean(nil, -1))
	f(5, kerr.None, mean(ptr(testCluster), 2))
	f(5, kerr.RebootstrapRequired, mean(ptr(testCluster), 3))
	f(5, kerr.RebootstrapRequired, mean(ptr("another"), 2))
	f(5, kerr.InvalidRequest, mean(nil, 2))
	f(5, kerr.InvalidRequest, mean(ptr(testCluster), -1))
}

func TestSoftwareIsNoted(t *testing.T) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(3)
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kcat", "1.7.0"
	service, _ := tableOf(towns(t), nil).Find(keyApiVersions, 3)
	conn := &transport.ConnInfo{}
	service.Handler(&transport.Request{Key: keyApiVersions, Version: 3, Body: req, Ctx: t.Context(), Conn: conn}, func(transport.Reply) {})
	if got := conn.Software(); got != (transport.Software{Name: "kcat", Version: "1.7.0"}) {
		t.Errorf("noted %+v", got)
	}
}
