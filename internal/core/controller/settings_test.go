package controller

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

func setTo(key, value string) ConfigChange { return ConfigChange{SetConfig, key, &value} }

func TestIncrementalAlterConfigs(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.topic("a", "1", "size=1")
	topic := image.TopicOf("a")
	f := func(r image.Resource, code kerr.Code, word string, changes ...ConfigChange) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			d := IncrementalAlterConfigs(c.img, c.soft, ConfigsToAlter{
				Resources: []ResourceChange{{r, changes}, {image.AllBrokers, []ConfigChange{setTo("good", "1")}}}, ValidateOnly: dry,
			})
			refused(t, d.Reply[0].Err, code, word)
			refused(t, d.Reply[1].Err, kerr.None)
			if dry {
				wrote(t, d.Records)
			} else if code != kerr.None {
				wrote(t, d.Records, "Config") // of the good one
			}
		}
	}
	f(topic, kerr.None, "", setTo("size", "2"))
	f(topic, kerr.InvalidConfig, "unknown", setTo("unknown", "2"))
	f(topic, kerr.InvalidConfig, "bad", setTo("list", "x"), setTo("size", "bad"))
	f(topic, kerr.InvalidConfig, "size is not a list", ConfigChange{AppendConfig, "size", ptr("1")})
	f(topic, kerr.InvalidConfig, "size is not a list", ConfigChange{SubtractConfig, "size", ptr("1")})
	f(topic, kerr.InvalidRequest, "null", ConfigChange{AppendConfig, "list", nil})
	f(topic, kerr.InvalidRequest, "operation 4", ConfigChange{4, "list", ptr("1")})
	f(topic, kerr.InvalidConfig, "32768", setTo("size", strings.Repeat("é", 32_768)))
	f(image.TopicOf("none"), kerr.UnknownTopicOrPartition, "none", setTo("size", "2"))
	f(image.TopicOf("a b"), kerr.InvalidTopicException, "a b", setTo("size", "2"))
	f(image.BrokerOf(1), kerr.None, "", setTo("anything", "2"))
	f(image.BrokerOf(9), kerr.None, "", setTo("anything", "2")) // a voter
	f(image.BrokerOf(7), kerr.BrokerIdNotRegistered, "7", setTo("anything", "2"))
	f(image.Resource{Type: image.BrokerResource, Name: "x"}, kerr.InvalidRequest, "x", setTo("anything", "2"))
	f(image.Resource{Type: image.GroupResource}, kerr.InvalidRequest, "GROUP", setTo("size", "2"))
	f(image.Resource{Type: image.BrokerLoggerResource, Name: "1"}, kerr.InvalidRequest, "log levels", setTo("root", "INFO"))
	f(image.Resource{Type: 7}, kerr.InvalidRequest, "7", setTo("size", "2"))
	f(image.Resource{Type: image.ClientMetrics, Name: "m"}, kerr.None, "", setTo("size", "2"))
}

// stored is what a resource has after changes, "key=value ..." in order.
func (c *cluster) stored(r image.Resource) string {
	var items []string
	for k, v := range c.img.Config(r).All() {
		items = append(items, k+"="+v)
	}
	return strings.Join(items, " ")
}

func TestConfigChangesOneByOne(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.topic("a", "1")
	topic := image.TopicOf("a")
	f := func(want string, change ConfigChange, records ...string) {
		t.Helper()
		d := IncrementalAlterConfigs(c.img, c.soft, ConfigsToAlter{Resources: []ResourceChange{{topic, []ConfigChange{change}}}})
		wrote(t, d.Records, records...)
		do(c, d)
		if got := c.stored(topic); got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	f("list=a,b,c", ConfigChange{AppendConfig, "list", ptr("c,a")}, "Config") // on top of the default a,b
	f("list=a,b,c", ConfigChange{AppendConfig, "list", ptr("b")})
	f("list=b", ConfigChange{SubtractConfig, "list", ptr("c,a,x")}, "Config")
	f("list=b size=1", setTo("size", "1"), "Config")
	f("list=b size=1", setTo("size", "1"))
	f("list=b", ConfigChange{DeleteConfig, "size", nil}, "Config")
	f("list=b", ConfigChange{DeleteConfig, "size", nil})
	f("", ConfigChange{SetConfig, "list", nil}, "Config") // straight to a controller null deletes
}

func TestBrokerValuesAreAlwaysWritten(t *testing.T) {
	// KAFKA-14136: so that the broker loads its key store again.
	c := newCluster(t)
	c.brokers(1)
	want := ConfigsToAlter{Resources: []ResourceChange{{image.BrokerOf(1), []ConfigChange{setTo("store", "x")}}}}
	for range 2 {
		d := IncrementalAlterConfigs(c.img, c.soft, want)
		wrote(t, d.Records, "Config")
		do(c, d)
	}
}

func TestAlterConfigsReplacesAll(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.topic("a", "1", "size=1", "list=x")
	d := AlterConfigs(c.img, c.soft, ConfigsToAlter{Resources: []ResourceChange{{image.TopicOf("a"), []ConfigChange{setTo("size", "2")}}}})
	wrote(t, d.Records, "Config", "Config")
	do(c, d)
	if got := c.stored(image.TopicOf("a")); got != "size=2" {
		t.Errorf("stored %q", got)
	}
}

// KAFKA-19851: a name that this version does not know must not make every later change
// of its topic fail. What it is worth a newer release may know again, so it stays.
func TestKeysOfANewerReleaseAreNotJudged(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.topic("a", "1")
	topic, newer := image.TopicOf("a"), "1"
	c.add(image.ConfigRecord(topic, "newer", &newer))
	f := func(code kerr.Code, want string, changes ...ConfigChange) {
		t.Helper()
		d := IncrementalAlterConfigs(c.img, c.soft, ConfigsToAlter{Resources: []ResourceChange{{topic, changes}}})
		refused(t, d.Reply[0].Err, code)
		do(c, d)
		if got := c.stored(topic); got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	f(kerr.None, "newer=1 size=1", setTo("size", "1"))
	f(kerr.InvalidConfig, "newer=1 size=1", setTo("newer", "2"))
	f(kerr.None, "size=1", ConfigChange{DeleteConfig, "newer", nil})
}

// KIP-1066: "a controller receiving it directly only allows shrinking the list; below
// level 30 40 INVALID_CONFIG". The asterisk is a word as any other.
func TestOnlyABrokerCordonsItsDirectories(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	f := func(direct bool, code kerr.Code, change ConfigChange) {
		t.Helper()
		d := IncrementalAlterConfigs(c.img, c.soft, ConfigsToAlter{
			Resources: []ResourceChange{{image.BrokerOf(1), []ConfigChange{change}}}, Direct: direct,
		})
		refused(t, d.Reply[0].Err, code)
		do(c, d)
	}
	f(true, kerr.InvalidConfig, setTo(cordonedKey, "/a"))
	f(true, kerr.InvalidConfig, ConfigChange{SetConfig, cordonedKey, ptr("*")})
	f(true, kerr.None, setTo(cordonedKey, ""))
	f(false, kerr.None, setTo(cordonedKey, "/a,/b"))
	f(true, kerr.InvalidConfig, setTo(cordonedKey, "*"))
	f(true, kerr.InvalidConfig, setTo(cordonedKey, "/a,/c"))
	f(true, kerr.None, setTo(cordonedKey, "/b"))
	f(false, kerr.None, setTo(cordonedKey, "*"))
	f(true, kerr.InvalidConfig, setTo(cordonedKey, "/a"))
	f(true, kerr.None, setTo("another", "1"))
	f(true, kerr.None, ConfigChange{DeleteConfig, cordonedKey, nil})
	c.add(&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 29})
	f(false, kerr.InvalidConfig, setTo(cordonedKey, "/a"))
	f(true, kerr.None, ConfigChange{DeleteConfig, cordonedKey, nil})
}

func TestAResourceThatStandsTwiceIsRefusedOnce(t *testing.T) {
	c := newCluster(t)
	r := ResourceChange{image.AllBrokers, []ConfigChange{setTo("x", "1")}}
	d := IncrementalAlterConfigs(c.img, c.soft, ConfigsToAlter{Resources: []ResourceChange{r, r}})
	if len(d.Reply) != 1 {
		t.Fatalf("%d answers", len(d.Reply))
	}
	refused(t, d.Reply[0].Err, kerr.InvalidRequest, "2 times")
}

func TestMinInsyncReplicasStayWhereAllControllersSeeThem(t *testing.T) {
	// KAFKA-16540.
	c := newCluster(t)
	c.brokers(1, 2)
	c.soft.MinInsyncReplicas = 2
	value := "3"
	c.add(image.ConfigRecord(image.BrokerOf(1), minInsyncKey, &value))
	d := UpdateFeatures(c.img, c.soft, FeaturesToUpdate{Updates: []FeatureUpdate{{image.ElrVersion, 1, Upgrade}}})
	wrote(t, d.Records, "Config", "Config", "FeatureLevel")
	do(c, d)
	if c.stored(image.AllBrokers) != minInsyncKey+"=2" || c.stored(image.BrokerOf(1)) != "" {
		t.Errorf("cluster %q, broker %q", c.stored(image.AllBrokers), c.stored(image.BrokerOf(1)))
	}
	f := func(r image.Resource, change ConfigChange, code kerr.Code, records ...string) {
		t.Helper()
		d := IncrementalAlterConfigs(c.img, c.soft, ConfigsToAlter{Resources: []ResourceChange{{r, []ConfigChange{change}}}})
		refused(t, d.Reply[0].Err, code)
		wrote(t, d.Records, records...)
	}
	c.topic("a", "1,2")
	f(image.BrokerOf(1), setTo(minInsyncKey, "1"), kerr.InvalidConfig)
	f(image.AllBrokers, ConfigChange{DeleteConfig, minInsyncKey, nil}, kerr.InvalidConfig)
	f(image.AllBrokers, setTo(minInsyncKey, "1"), kerr.None, "Config", "ClearElr")
	f(image.TopicOf("a"), setTo(minInsyncKey, "1"), kerr.None, "Config", "ClearElr")
}

func TestUpdateFeatures(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	old := registration(2, 1)
	old.Features = []image.VersionRange{{Name: image.MetadataVersion, Min: 7, Max: 33}}
	do(c, RegisterBroker(c.img, c.soft, c.now, old))
	f := func(u FeatureUpdate, code kerr.Code, words ...string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			d := UpdateFeatures(c.img, c.soft, FeaturesToUpdate{Updates: []FeatureUpdate{u}, ValidateOnly: dry})
			refused(t, d.Err, code, words...)
			if dry {
				wrote(t, d.Records)
			}
		}
	}
	f(FeatureUpdate{image.MetadataVersion, 33, Upgrade}, kerr.None)
	f(FeatureUpdate{image.MetadataVersion, 33, 0}, kerr.InvalidUpdateVersion, "upgrade type 0")
	f(FeatureUpdate{image.MetadataVersion, -1, Upgrade}, kerr.InvalidUpdateVersion, "-1")
	f(FeatureUpdate{image.MetadataVersion, 34, Upgrade}, kerr.InvalidUpdateVersion, "34", "7 to 33")
	f(FeatureUpdate{image.MetadataVersion, 32, Upgrade}, kerr.InvalidUpdateVersion, "33", "32")
	f(FeatureUpdate{image.MetadataVersion, 32, SafeDowngrade}, kerr.InvalidUpdateVersion, "4.4-IV2 changed the format")
	f(FeatureUpdate{image.MetadataVersion, 32, UnsafeDowngrade}, kerr.InvalidUpdateVersion, "not supported in this version")
	f(FeatureUpdate{image.ElrVersion, 1, Upgrade}, kerr.InvalidUpdateVersion, "broker 2 supports 0 to 0")
	f(FeatureUpdate{"none", 1, Upgrade}, kerr.InvalidUpdateVersion, "none", "0 to 0")
	f(FeatureUpdate{image.ElrVersion, 0, SafeDowngrade}, kerr.None)

	do(c, UnregisterBroker(c.img, c.soft, 2))
	f(FeatureUpdate{image.ElrVersion, 1, Upgrade}, kerr.None)
	f(FeatureUpdate{image.ElrVersion, 1, SafeDowngrade}, kerr.InvalidUpdateVersion, "not a downgrade")
	c.soft.Voters = func() []kafka.NodeID { return []kafka.NodeID{9, 10} }
	f(FeatureUpdate{image.ElrVersion, 1, Upgrade}, kerr.InvalidUpdateVersion, "controller 10 has not registered")
	do(c, RegisterController(c.img, image.Controller{ID: 10}))
	f(FeatureUpdate{image.ElrVersion, 1, Upgrade}, kerr.InvalidUpdateVersion, "controller 10 supports 0 to 0")
}

func TestFeaturesRestOnEachOther(t *testing.T) {
	c := &cluster{t: t, img: image.Empty(), soft: NewSoft(settings(), newCluster(t).soft.Rand)}
	do(c, Activate(c.img, c.soft, c.now, Bootstrap(22)))
	elr := FeatureUpdate{image.ElrVersion, 1, Upgrade}
	refused(t, UpdateFeatures(c.img, c.soft, FeaturesToUpdate{Updates: []FeatureUpdate{elr}}).Err,
		kerr.InvalidUpdateVersion, "metadata.version", "23", "22")
	// The proposed state counts, whatever the order.
	both := []FeatureUpdate{elr, {image.MetadataVersion, 33, Upgrade}}
	refused(t, UpdateFeatures(c.img, c.soft, FeaturesToUpdate{Updates: both}).Err, kerr.None)
}

func TestProducerIDs(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	epoch := c.broker(1).Epoch
	refused(t, AllocateProducerIDs(c.img, 1, epoch+1).Err, kerr.StaleBrokerEpoch)
	refused(t, AllocateProducerIDs(c.img, 2, epoch).Err, kerr.StaleBrokerEpoch)
	for want := range 3 {
		if ids := do(c, AllocateProducerIDs(c.img, 1, epoch)); ids.First != kafka.ProducerID(want*1000) || ids.Count != 1000 {
			t.Errorf("block %d is %+v", want, ids)
		}
	}
	c.add(&metarec.ProducerIdsRecord{NextProducerId: math.MaxInt64 - 10})
	refused(t, AllocateProducerIDs(c.img, 1, epoch).Err, kerr.UnknownServerError)
}

func TestControllerRegistration(t *testing.T) {
	c := newCluster(t)
	ours := image.Controller{ID: 9, Incarnation: uid(1), Features: []image.VersionRange{{Name: image.DirsFeature, Max: 1}}}
	do(c, RegisterController(c.img, ours))
	c.fenced(1)
	id := uid(500)
	p := metarec.NewPartitionRecord()
	p.TopicId, p.PartitionId, p.Replicas, p.LeaderEpoch, p.PartitionEpoch = id, 0, []int32{1}, 0, 0
	c.add(&metarec.TopicRecord{Name: "a", TopicId: id}, p)
	again := registration(1, 2)
	again.Incarnation = uid(78)
	do(c, RegisterBroker(c.img, c.soft, c.now, again))

	// Software without the rule of KIP-858 is told what the rule placed.
	d := RegisterController(c.img, image.Controller{ID: 10})
	wrote(t, d.Records, "PartitionChange", "RegisterController")
	do(c, d)
	if p := c.partition("a", 0); c.img.PlacedByRule(p) || p.Dirs[0] != uid(11) {
		t.Errorf("in %v, by rule %v", p.Dirs[0], c.img.PlacedByRule(p))
	}
	wrote(t, RegisterController(c.img, image.Controller{ID: 10}).Records, "RegisterController")

	refused(t, UnregisterController(c.img, c.soft, 9).Err, kerr.InvalidRequest, "9")
	refused(t, UnregisterController(c.img, c.soft, 11).Err, kerr.ControllerIdNotRegistered, "11")
	do(c, UnregisterController(c.img, c.soft, 10))
	if c.img.Controllers().Len() != 1 {
		t.Errorf("%d are left", c.img.Controllers().Len())
	}
}

// A controller that was started from a snapshot does not know any more what the rule
// of KIP-858 placed: it writes down all that may be.
func TestPlacementsFromASnapshotAreWrittenForAControllerWithoutTheRule(t *testing.T) {
	c := newCluster(t)
	ours := image.Controller{ID: 9, Incarnation: uid(1), Features: []image.VersionRange{{Name: image.DirsFeature, Max: 1}}}
	do(c, RegisterController(c.img, ours))
	c.brokers(1, 2)
	c.topic("a", "1 2")
	c.now += kafka.Instant(time.Hour)
	again := registration(1, 2)
	again.Incarnation = uid(78)
	do(c, RegisterBroker(c.img, c.soft, c.now, again))
	loader := image.NewLoader(c.img.Provenance())
	for m := range c.img.Records(nil) {
		if err := loader.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	wrote(t, RegisterController(c.img, image.Controller{ID: 10}).Records, "RegisterController")
	c.img = loader.Done()
	c.add(metarec.NewNoOpRecord())
	d := RegisterController(c.img, image.Controller{ID: 10})
	wrote(t, d.Records, "PartitionChange", "RegisterController") // broker 2 has one directory
	do(c, d)
	if p := c.partition("a", 0); p.Dirs[0] != uid(11) {
		t.Errorf("in %v", p.Dirs[0])
	}
}

func TestActivation(t *testing.T) {
	soft := NewSoft(settings(), newCluster(t).soft.Rand)
	elr := append(Bootstrap(image.LatestLevel), Versioned{&metarec.FeatureLevelRecord{Name: image.ElrVersion, FeatureLevel: 1}, 0})
	d := Activate(image.Empty(), soft, 0, elr)
	wrote(t, d.Records, "BeginTransaction", "FeatureLevel", "FeatureLevel", "Config", "EndTransaction")
	d = Activate(image.Empty(), soft, 0, Bootstrap(12))
	wrote(t, d.Records, "FeatureLevel")
	if !d.Atomic {
		t.Error("without a transaction the batch must be one")
	}
	if Activate(image.Empty(), soft, 0, nil).Err == nil || Activate(image.Empty(), soft, 0, Bootstrap(34)).Err == nil {
		t.Error("bootstrap metadata without a known level was taken")
	}

	full := newCluster(t)
	wrote(t, Activate(full.img, soft, 0, elr).Records)
	full.add(metarec.NewBeginTransactionRecord(), &metarec.TopicRecord{Name: "half", TopicId: uid(1)})
	d = Activate(full.img, soft, 0, elr)
	wrote(t, d.Records, "AbortTransaction")
	do(full, d)
	if full.img.Topics().Len() != 0 {
		t.Error("half a transaction was kept")
	}

	begun := &cluster{t: t, img: image.Empty(), soft: soft}
	begun.add(metarec.NewBeginTransactionRecord(), &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 33})
	d = Activate(begun.img, soft, 0, Bootstrap(image.LatestLevel))
	wrote(t, d.Records, "AbortTransaction", "BeginTransaction", "FeatureLevel", "EndTransaction")
	do(begun, d)
	if begun.img.Level() != image.LatestLevel || begun.img.Stable() != begun.img {
		t.Errorf("level %v", begun.img.Level())
	}

	// KAFKA-20839: records without a metadata.version are damage.
	damaged := &cluster{t: t, img: image.Empty(), soft: soft}
	damaged.add(&metarec.TopicRecord{Name: "a", TopicId: uid(1)})
	if Activate(damaged.img, soft, 0, elr).Err == nil {
		t.Error("a log that lost its metadata.version began anew")
	}
}

func TestNewIDsAreNeitherReservedNorTakenForOptions(t *testing.T) {
	c := newCluster(t)
	seen := map[kafka.UUID]bool{}
	for range 1000 {
		id := c.soft.newID()
		if id.Reserved() || id.String()[0] == '-' || seen[id] {
			t.Fatalf("drew %v", id)
		}
		seen[id] = true
	}
}

func TestNamesOfRecordsStayInOrder(t *testing.T) {
	// Values of one resource are written in the order of their keys, so that
	// the same request always gives the same records.
	c := newCluster(t)
	c.brokers(1)
	d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{with(with(auto("x", 1, 1), "size", ptr("1")), "list", ptr("q"))}})
	var got []string
	for _, r := range d.Records {
		if cfg, ok := r.Message.(*metarec.ConfigRecord); ok {
			got = append(got, cfg.Name)
		}
	}
	if !slices.Equal(got, []string{"list", "size"}) {
		t.Errorf("wrote %v", got)
	}
}
