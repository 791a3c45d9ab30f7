package controller

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
)

// levels are the rows of Kafka's table of what each metadata.version has, by level.
func levels(t *testing.T) map[image.Level]map[string]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/metadata-version-matrix.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[image.Level]map[string]string{}
	var columns []string
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if columns == nil {
			columns = cells
			continue
		}
		row := map[string]string{}
		for i, cell := range cells {
			row[columns[i]] = cell
		}
		var level int16
		if _, err := fmt.Sscan(row["featureLevel"], &level); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if row["isProduction"] == "true" {
			rows[image.Level(level)] = row
		}
	}
	return rows
}

// atLevel is a cluster at a level of metadata.version.
func atLevel(t *testing.T, level image.Level) *cluster {
	t.Helper()
	c := &cluster{t: t, img: image.Empty(), soft: NewSoft(settings(), rand.New(rand.NewPCG(1, 2)))}
	c.soft.Tokens.Secret = "sesame"
	do(c, Activate(c.img, c.soft, c.now, Bootstrap(level)))
	return c
}

// written gathers the versions of records that decisions write, by their names.
type written map[string][]int16

func take[T any](w written, c *cluster, d Decision[T]) T {
	c.t.Helper()
	for _, r := range d.Records {
		name := strings.TrimSuffix(r.Message.MessageName(), "Record")
		if !slices.Contains(w[name], r.Version) {
			w[name] = append(w[name], r.Version)
		}
	}
	return do(c, d)
}

// Every decision at every level: what is written can be read at that level (do checks
// it), at the version that Apache Kafka writes; and what the level has not is refused.
func TestEveryDecisionAtEveryLevel(t *testing.T) {
	rows := levels(t)
	if len(rows) != int(image.LatestLevel-image.MinLevel)+1 {
		t.Fatalf("%d levels", len(rows))
	}
	for level := image.MinLevel; level <= image.LatestLevel; level++ {
		row, c, w := rows[level], atLevel(t, level), written{}
		everything(c, w)
		f := func(record, column string) {
			t.Helper()
			if got := fmt.Sprint(w[record]); got != "["+row[column]+"]" {
				t.Errorf("level %d: %s is written at %s, Kafka's version is %s", level, record, got, row[column])
			}
		}
		f("RegisterBroker", "registerBrokerRecordVersion")
		f("Partition", "partitionRecordVersion")
		f("PartitionChange", "partitionChangeRecordVersion")
		g := func(err error, column string) {
			t.Helper()
			want := kerr.UnsupportedVersion
			if row[column] == "true" {
				want = kerr.None
			}
			if kerr.Of(err) != want {
				t.Errorf("level %d: %v, %s is %s", level, err, column, row[column])
			}
		}
		g(AlterScram(c.img, ScramToAlter{Upsertions: []ScramUpsertion{upsert("a", 1, 4096)}}).Err, "isScramSupported")
		g(CreateToken(c.img, c.soft, TokenToCreate{Owner: "User:a"}).Err, "isDelegationTokenSupported")
		g(RegisterController(c.img, image.Controller{ID: 10}).Err, "isControllerRegistrationSupported")
		g(AssignReplicasToDirs(c.img, c.soft, DirsToAssign{1, c.broker(1).Epoch, nil}).Err, "isDirectoryAssignmentSupported")
		c.add(&metarec.RegisterControllerRecord{ControllerId: 11})
		g(UnregisterController(c.img, c.soft, 11).Err, "isControllerUnregistrationSupported")
		g(CreateACLs(c.img, c.soft, []image.ACL{rule(func(a *image.ACL) { a.Host = "10.0.0.0/8" })}).Reply[0], "isCidrAclSupported")
	}
}

// everything makes a cluster live through all that is decided at every level.
func everything(c *cluster, w written) {
	c.t.Helper()
	for n := 1; n <= 3; n++ {
		r := registration(n, 2)
		take(w, c, RegisterBroker(c.img, c.soft, c.now, r))
		beat := Beat{Broker: kafka.NodeID(n), Epoch: c.broker(n).Epoch, MetadataOffset: c.img.NextOffset()}
		take(w, c, Heartbeat(c.img, c.soft, c.now, beat))
	}
	list := "x"
	created := take(w, c, CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{
		{Name: "a", Partitions: FromSettings, Replication: FromSettings, Assignments: []Assignment{{0, nodeList("1,2,3")}}, Configs: []ConfigValue{{"list", &list}}},
		auto("b", 2, 2),
	}}))
	for _, topic := range created {
		refused(c.t, topic.Err, kerr.None)
	}
	take(w, c, CreatePartitions(c.img, c.soft, PartitionsToCreate{Topics: []MorePartitions{{Topic: "a", Count: 2}}}))
	take(w, c, IncrementalAlterConfigs(c.img, c.soft, ConfigsToAlter{Resources: []ResourceChange{{image.TopicOf("a"), []ConfigChange{setTo("size", "2")}}}}))
	take(w, c, AlterConfigs(c.img, c.soft, ConfigsToAlter{Resources: []ResourceChange{{image.AllBrokers, []ConfigChange{setTo("size", "2")}}}}))
	take(w, c, AlterReassignments(c.img, c.soft, ReassignmentsToAlter{Partitions: []Reassignment{{Partition: kafka.TopicPartition{Topic: "a"}, Replicas: nodeList("2,3")}}}))
	take(w, c, Heartbeat(c.img, c.soft, c.now, Beat{Broker: 2, Epoch: c.broker(2).Epoch, MetadataOffset: c.img.NextOffset(), WantFence: true, OfflineDirs: dirs(21)}))
	take(w, c, Heartbeat(c.img, c.soft, c.now, Beat{Broker: 2, Epoch: c.broker(2).Epoch, MetadataOffset: c.img.NextOffset(), Cordoned: dirs(22)}))
	take(w, c, Heartbeat(c.img, c.soft, c.now, Beat{Broker: 3, Epoch: c.broker(3).Epoch, MetadataOffset: c.img.NextOffset(), WantShutDown: true}))
	take(w, c, ElectLeaders(c.img, c.soft, LeadersToElect{}))
	take(w, c, Balance(c.img, c.soft))
	take(w, c, ElectUnclean(c.img, c.soft))
	take(w, c, AllocateProducerIDs(c.img, 1, c.broker(1).Epoch))
	take(w, c, AlterClientQuotas(c.img, QuotasToAlter{Changes: []QuotaChange{{Entity: entity("user=u"), Ops: []QuotaOp{limit("request_percentage", 1)}}}}))
	take(w, c, CreateACLs(c.img, c.soft, []image.ACL{rule()}))
	take(w, c, DeleteACLs(c.img, []auth.Filter{{Kind: auth.Topic, Pattern: auth.AnyPattern, Operation: auth.AnyOperation, Permission: auth.AnyPermission}}))
	take(w, c, UpdateFeatures(c.img, c.soft, FeaturesToUpdate{Updates: []FeatureUpdate{{image.MetadataVersion, int16(c.img.Level()), Upgrade}}, ValidateOnly: true}))
	take(w, c, UnregisterBroker(c.img, c.soft, 3))
	take(w, c, DeleteTopics(c.img, c.soft, []TopicRef{{Name: "b"}}, nil))
}
