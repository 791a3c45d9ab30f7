package image

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"pgregory.net/rapid"
)

// records are the messages of Records, through their bytes.
func records(t interface{ Fatalf(string, ...any) }, img *Image) []metarec.Message {
	var out []metarec.Message
	for m, version := range img.Records(func(what string) { t.Fatalf("lost %s", what) }) {
		framed, err := metarec.AppendMetadata(nil, m, version)
		if err != nil {
			t.Fatalf("%s at version %d: %v", m.MessageName(), version, err)
		}
		read, _, err := metarec.ReadMetadata(framed)
		if err != nil {
			t.Fatalf("%s at version %d: %v", m.MessageName(), version, err)
		}
		out = append(out, read)
	}
	return out
}

func TestAnImageIsRebuiltFromItsRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		img, _ := drawImage(t)
		again, _, err := Apply(Empty(), records(t, img))
		if err != nil {
			t.Fatal(err)
		}
		if d := Between(img, again); !d.Empty() {
			t.Fatalf("the rebuilt image differs: %+v", d)
		}
		loader := NewLoader(img.Provenance())
		if err := loader.Add(records(t, img)...); err != nil {
			t.Fatal(err)
		}
		if loaded := loader.Done(); !loaded.Equal(img) || loaded.Provenance() != img.Provenance() {
			t.Fatalf("the loaded image differs: %+v", Between(img, loaded))
		}
	})
}

func TestRecordsApplyAlikeInOneBatchAndOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		img, all := drawImage(t)
		whole, delta, err := Apply(Empty(), all)
		if err != nil {
			t.Fatal(err)
		}
		if !whole.Equal(img) || whole.NextOffset() != img.NextOffset() || whole.PartitionCount() != img.PartitionCount() {
			t.Fatalf("they differ: %+v", Between(img, whole))
		}
		if len(delta.Created) != img.Topics().Len() || len(delta.Deleted) != 0 || len(delta.Partitions) != img.PartitionCount() {
			t.Fatalf("delta from nothing: %d created, %d deleted, %d partitions for %d topics, %d partitions",
				len(delta.Created), len(delta.Deleted), len(delta.Partitions), img.Topics().Len(), img.PartitionCount())
		}
	})
}

func TestADeltaNamesAllThatDiffersAndTheOldImageStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, _ := drawImage(t)
		copied, _, _ := Apply(Empty(), records(t, before))
		var batch []metarec.Message
		img := before
		for range rapid.IntRange(1, 20).Draw(t, "more") {
			rec := world{t, img}.record()
			if rec == nil {
				continue
			}
			batch = append(batch, rec)
			img, _, _ = Apply(img, []metarec.Message{rec})
		}
		after, delta, err := Apply(before, batch)
		if err != nil {
			t.Fatal(err)
		}
		if !before.Equal(copied) {
			t.Fatalf("Apply changed the image it began with: %+v", Between(copied, before))
		}
		differs := Between(before, after)
		subset(t, "created", differs.Created, delta.Created)
		subset(t, "partitions", differs.Partitions, delta.Partitions)
		subset(t, "brokers", differs.Brokers, delta.Brokers)
		subset(t, "controllers", differs.Controllers, delta.Controllers)
		subset(t, "configs", differs.Configs, delta.Configs)
		subset(t, "deleted", differs.Deleted, delta.Deleted)
		for what, said := range map[string][2]bool{
			"features": {differs.Features, delta.Features}, "quotas": {differs.Quotas, delta.Quotas},
			"producer ids": {differs.ProducerIDs, delta.ProducerIDs}, "acls": {differs.ACLs, delta.ACLs},
			"scram": {differs.Scram, delta.Scram}, "tokens": {differs.Tokens, delta.Tokens},
		} {
			if said[0] && !said[1] {
				t.Fatalf("%s differ, the delta does not say so", what)
			}
		}
	})
}

func subset[T comparable](t *rapid.T, what string, differs, delta []T) {
	for _, d := range differs {
		if !slices.Contains(delta, d) {
			t.Fatalf("%s: %v differs, the delta names only %v", what, d, delta)
		}
	}
}

func TestADeltaLeavesOutWhatCameAndWent(t *testing.T) {
	// KAFKA-19497: a topic created and deleted within one delta stayed in it.
	img := after(t, Empty(), topic("a", 1), partition(1, 0, 1))
	next, delta, err := Apply(img, []metarec.Message{
		topic("b", 2), partition(2, 0, 1), &metarec.RemoveTopicRecord{TopicId: id(2)},
		&metarec.RemoveTopicRecord{TopicId: id(1)}, topic("a", 3), partition(3, 0, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(delta.Created, ids(3)) || len(delta.Deleted) != 1 || delta.Deleted[0].ID != id(1) {
		t.Errorf("created %v, deleted %d", delta.Created, len(delta.Deleted))
	}
	if len(delta.Partitions) != 1 || delta.Partitions[0].Topic != id(3) {
		t.Errorf("partitions %v", delta.Partitions)
	}
	if got, _ := next.TopicNamed("a"); got.ID != id(3) || next.PartitionCount() != 1 {
		t.Errorf("topic a has id %v, there are %d partitions", got.ID, next.PartitionCount())
	}
}

// A topic comes back with the id that it had, and with fewer partitions: what the
// first one had and nobody has leaves no trace either.
func TestADeltaLeavesOutPartitionsThatWent(t *testing.T) {
	next, delta, err := Apply(Empty(), []metarec.Message{
		topic("a", 1), partition(1, 0, 1), partition(1, 1, 1), &metarec.RemoveTopicRecord{TopicId: id(1)},
		topic("a", 1), partition(1, 0, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []kafka.TopicIDPartition{{Topic: id(1), Partition: 0}}
	if !slices.Equal(delta.Created, ids(1)) || !slices.Equal(delta.Partitions, want) || next.PartitionCount() != 1 {
		t.Errorf("created %v, partitions %v of %d", delta.Created, delta.Partitions, next.PartitionCount())
	}
}

func TestRecordsAreWrittenInKafkasOrder(t *testing.T) {
	value := "v"
	img := after(t, Empty(), level(LatestLevel),
		&metarec.FeatureLevelRecord{Name: ElrVersion, FeatureLevel: 1},
		ConfigRecord(AllBrokers, "k", &value), topic("a", 1), partition(1, 0, 1),
		&metarec.ProducerIdsRecord{NextProducerId: 1000}, &metarec.RegisterControllerRecord{ControllerId: 3}, broker(1, 5, 11))
	var got []string
	for m := range img.Records(nil) {
		got = append(got, m.MessageName())
	}
	want := []string{
		"FeatureLevelRecord", "FeatureLevelRecord", "RegisterBrokerRecord", "RegisterControllerRecord",
		"TopicRecord", "PartitionRecord", "ConfigRecord", "ProducerIdsRecord",
	}
	if !slices.Equal(got, want) {
		t.Errorf("wrote %v, want %v", got, want)
	}
	for m := range img.Records(nil) {
		if f, ok := m.(*metarec.FeatureLevelRecord); !ok || f.Name != MetadataVersion {
			t.Error("metadata.version is not the first record")
		}
		break
	}
}

func TestOldVersionsLeaveOutWhatTheyCannotSayAndTellIt(t *testing.T) {
	f := func(l Level, lost int, brokerVersion, partitionVersion int16) {
		t.Helper()
		r := partition(1, 0, 1)
		r.Directories = ids(11)
		r.EligibleLeaderReplicas = []int32{2}
		img := after(t, Empty(), level(l), broker(1, 5, 11), topic("a", 1), r)
		said := 0
		for m, v := range img.Records(func(string) { said++ }) {
			if _, err := metarec.AppendMetadata(nil, m, v); err != nil {
				t.Errorf("%s at version %d: %v", m.MessageName(), v, err)
			}
			switch m.(type) {
			case *metarec.RegisterBrokerRecord:
				if v != brokerVersion {
					t.Errorf("broker version %d, want %d", v, brokerVersion)
				}
			case *metarec.PartitionRecord:
				if v != partitionVersion {
					t.Errorf("partition version %d, want %d", v, partitionVersion)
				}
			}
		}
		if said != lost {
			t.Errorf("told %d losses, want %d", said, lost)
		}
	}
	f(7, 3, 1, 0)
	f(16, 3, 2, 0)
	f(17, 1, 3, 1)
	f(23, 0, 3, 2)
	f(30, 0, 4, 2)
	f(33, 0, 4, 2)
}

func TestReadersSeeATransactionOnlyOnceItEnds(t *testing.T) {
	base := after(t, Empty(), topic("a", 1))
	open, delta, err := Apply(base, []metarec.Message{topic("b", 2), metarec.NewBeginTransactionRecord(), topic("c", 3)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(delta.Created, ids(2)) {
		t.Errorf("while it is open readers learn of %v", delta.Created)
	}
	if _, ok := open.TopicNamed("c"); !ok || open.Stable().Topics().Len() != 2 || open.Stable().NextOffset() != 2 {
		t.Errorf("inside %v; readers see %d topics, next offset %d", ok, open.Stable().Topics().Len(), open.Stable().NextOffset())
	}
	ended, delta, err := Apply(open, []metarec.Message{topic("d", 4), &metarec.EndTransactionRecord{}, topic("e", 5)})
	if err != nil || !slices.Equal(delta.Created, ids(3, 4, 5)) || ended.Stable() != ended {
		t.Errorf("the end tells of %v: %v", delta.Created, err)
	}
	// Records that follow an abort in the same batch are not the aborted ones'.
	aborted, delta, err := Apply(open, []metarec.Message{topic("d", 4), metarec.NewAbortTransactionRecord(), topic("e", 5)})
	if err != nil || !slices.Equal(delta.Created, ids(5)) {
		t.Errorf("the abort tells of %v: %v", delta.Created, err)
	}
	if aborted.Topics().Len() != 3 || aborted.NextOffset() != 7 {
		t.Errorf("after the abort there are %d topics, next offset %d", aborted.Topics().Len(), aborted.NextOffset())
	}
	if _, open := open.InTransaction(); !open {
		t.Error("ending a transaction changed the image it was open in")
	}
}

func TestOneDirectoryThatBecomesSeveralKeepsTheUnplacedReplicas(t *testing.T) {
	// KIP-858: the logical update, where every controller knows the rule.
	f := func(controllers []*metarec.RegisterControllerRecord, wantDir kafka.DirID, wantRule bool) {
		t.Helper()
		migrating, unassigned, explicit := partition(1, 0, 1), partition(1, 1, 1), partition(1, 2, 1)
		unassigned.Directories = []kafka.DirID{kafka.DirUnassigned}
		explicit.Directories = ids(77)
		records := []metarec.Message{level(LatestLevel)}
		for _, c := range controllers {
			records = append(records, c)
		}
		img := after(t, Empty(), append(records, broker(1, 5, 11), topic("a", 1), migrating, unassigned, explicit)...)
		next, delta, err := Apply(img, []metarec.Message{broker(1, 9, 11, 12)})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := next.TopicNamed("a")
		for n, p := range a.Partitions.All() {
			want := wantDir
			if n == 2 {
				want = id(77)
			}
			if !wantRule && n == 1 {
				want = kafka.DirUnassigned
			}
			if p.Dirs[0] != want || next.PlacedByRule(p) != (wantRule && n != 2) || p.Epoch != 0 {
				t.Errorf("partition %d is in %v, by rule %v, epoch %d; want %v", n, p.Dirs[0], next.PlacedByRule(p), p.Epoch, want)
			}
		}
		if wantRule != (len(delta.Partitions) == 2) {
			t.Errorf("the delta names %v", delta.Partitions)
		}
	}
	ours := &metarec.RegisterControllerRecord{ControllerId: 1, Features: []metarec.RegisterControllerRecordControllerFeature{{Name: DirsFeature, MaxSupportedVersion: 1}}}
	other := &metarec.RegisterControllerRecord{ControllerId: 2}
	f([]*metarec.RegisterControllerRecord{ours}, id(11), true)
	f([]*metarec.RegisterControllerRecord{ours, other}, kafka.DirMigrating, false)
	f(nil, kafka.DirMigrating, false)
}
