package image

import (
	"encoding/binary"
	"testing"

	"github.com/ottla/ottla/internal/base/metarec"
)

// framed writes records as one input: each as its length in two bytes, and its
// frame.
func framed(t testing.TB, recs ...metarec.Message) (b []byte) {
	t.Helper()
	for _, rec := range recs {
		one, err := metarec.AppendMetadata(nil, rec, rec.MaxVersion())
		if err != nil {
			t.Fatal(err)
		}
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(one))), one...)
	}
	return b
}

// unframed reads as many records as there are, and no more than a few.
func unframed(b []byte) (recs []metarec.Message) {
	for len(b) >= 2 && len(recs) < 32 {
		n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
		if rec, _, err := metarec.ReadMetadata(b[2 : 2+n]); err == nil {
			recs = append(recs, rec)
		}
		b = b[2+n:]
	}
	return recs
}

// FuzzApply: whatever records a log holds, they give an image or an error; an
// image is written as records that give it again, and old images never change.
func FuzzApply(f *testing.F) {
	base := after(f, Empty(), level(LatestLevel), broker(1, 5, 11), broker(2, 6, 21), topic("a", 1), partition(1, 0, 1, 2),
		&metarec.ProducerIdsRecord{NextProducerId: 1000})
	add := func(recs ...metarec.Message) { f.Add(framed(f, recs...)) }
	moved := change(1, 0)
	moved.Isr, moved.Leader, moved.AddingReplicas = []int32{1}, 1, []int32{3}
	add(moved, &metarec.RemoveTopicRecord{TopicId: id(1)})
	add(topic("b", 2), partition(2, 0, 2, 1), partition(2, 1, 1))
	add(&metarec.BrokerRegistrationChangeRecord{BrokerId: 1, BrokerEpoch: 5, Fenced: 1}, &metarec.UnregisterBrokerRecord{BrokerId: 2, BrokerEpoch: 6})
	add(metarec.NewBeginTransactionRecord(), topic("b", 2), metarec.NewAbortTransactionRecord())
	add(metarec.NewBeginTransactionRecord(), topic("b", 2), &metarec.EndTransactionRecord{})
	add(&metarec.FeatureLevelRecord{Name: KRaftVersion, FeatureLevel: 1}, broker(3, 9, 31))
	add(&metarec.ConfigRecord{ResourceType: 2, ResourceName: "a", Name: "retention.ms", Value: new(string)})
	add(&metarec.ProducerIdsRecord{BrokerId: 1, BrokerEpoch: 5, NextProducerId: 2000})
	baseRecords := collect(base)
	f.Fuzz(func(t *testing.T, b []byte) {
		recs := unframed(b[:min(len(b), 4<<10)])
		next, delta, err := Apply(base, recs)
		if !base.Equal(reload(t, baseRecords)) {
			t.Fatal("the image before has changed")
		}
		if err != nil {
			return
		}
		if between := Between(base.Stable(), next.Stable()); delta.Empty() && !between.Empty() {
			t.Error("the delta is empty, but the images differ")
		}
		lost := false
		var list []metarec.Message
		for rec := range next.Stable().Records(func(string) { lost = true }) {
			list = append(list, rec)
		}
		if back := reload(t, list); !lost && !back.Equal(next.Stable()) {
			t.Errorf("%d records give another image", len(list))
		}
	})
}

func collect(img *Image) (list []metarec.Message) {
	for rec := range img.Records(nil) {
		list = append(list, rec)
	}
	return list
}

func reload(t *testing.T, recs []metarec.Message) *Image {
	t.Helper()
	l := NewLoader(NoProvenance)
	if err := l.Add(recs...); err != nil {
		t.Fatalf("a snapshot of the image does not load: %v", err)
	}
	return l.Done()
}
