package batch

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla/ottla/internal/base/kafka"
)

// golden is one batch that Apache Kafka 4.4 wrote, with what it holds.
type golden struct {
	Kind, Name           string
	BaseOffset           kafka.Offset
	PartitionLeaderEpoch kafka.Epoch
	Timestamp            int64
	MaxTimestamp         int64
	Compression          string
	IsTransactional      bool
	ProducerID           kafka.ProducerID
	ProducerEpoch        int16
	BaseSequence         int32
	RecordKeyHex         string
	RecordValueHex       string
	BatchHex             string
	Records              []goldenRecord
}

type goldenRecord struct {
	Offset     kafka.Offset
	Timestamp  int64
	Key, Value *string
	Headers    []struct {
		Key   string
		Value *string
	}
}

func goldens(t testing.TB) []golden {
	t.Helper()
	f, err := os.Open("testdata/batches.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []golden
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	if len(list) != 15 {
		t.Fatalf("%d golden batches", len(list))
	}
	return list
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bytesOf(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func (g golden) want(t testing.TB) []Record {
	if g.Kind == "control-batch" {
		return []Record{{Offset: g.BaseOffset, Timestamp: g.Timestamp, Key: unhex(t, g.RecordKeyHex), Value: unhex(t, g.RecordValueHex)}}
	}
	var want []Record
	for i, r := range g.Records {
		rec := Record{Offset: r.Offset, Timestamp: r.Timestamp, OffsetDelta: int32(i), Key: bytesOf(r.Key), Value: bytesOf(r.Value)}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, HeaderKV{h.Key, bytesOf(h.Value)})
		}
		want = append(want, rec)
	}
	return want
}

func TestReadsWhatKafkaWrote(t *testing.T) {
	var d Decoder
	for _, g := range goldens(t) {
		b := unhex(t, g.BatchHex)
		h, err := ParseHeader(b)
		if err != nil || h.Size() != len(b) || !CheckCRC(b) {
			t.Errorf("%s: header %+v, error %v", g.Name, h, err)
			continue
		}
		if h.BaseOffset != g.BaseOffset || h.LeaderEpoch != g.PartitionLeaderEpoch || h.ProducerID != g.ProducerID ||
			h.ProducerEpoch != g.ProducerEpoch || h.BaseSequence != g.BaseSequence ||
			h.Transactional() != g.IsTransactional || h.Control() != (g.Kind == "control-batch") {
			t.Errorf("%s: header %+v", g.Name, h)
		}
		var got []Record
		for r, err := range d.Records(b) {
			if err != nil {
				t.Fatalf("%s: %v", g.Name, err)
			}
			r.TimestampDelta = 0
			got = append(got, r)
		}
		if diff := cmp.Diff(g.want(t), got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", g.Name, diff)
		}
	}
}

// Kafka's own compressors may choose other bytes for the same records, so only
// batches without a codec must be equal to the byte.
func TestWritesWhatKafkaWrites(t *testing.T) {
	for _, g := range goldens(t) {
		b := unhex(t, g.BatchHex)
		h, err := ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Codec: h.Codec(), BaseOffset: g.BaseOffset, LeaderEpoch: g.PartitionLeaderEpoch, Transactional: g.IsTransactional, Control: h.Control()}
		if g.ProducerID != kafka.NoProducer {
			opt.Producer = &Producer{g.ProducerID, g.ProducerEpoch, g.BaseSequence}
		}
		w := NewBuilder(opt)
		for _, r := range g.want(t) {
			at := r.Timestamp
			if h.LogAppendTime() {
				at = h.BaseTimestamp + []int64{0, 5, 1}[r.OffsetDelta]
			}
			w.Add(at, r.Key, r.Value, r.Headers...)
		}
		out := w.Build(nil)
		if h.LogAppendTime() {
			SetAppendTime(out, h.MaxTimestamp)
		}
		if h.Codec() == None && !bytes.Equal(out, b) {
			t.Errorf("%s:\nwant %x\ngot  %x", g.Name, b, out)
		}
		if h.Codec() != None && !bytes.Equal(out[HeaderSize:HeaderSize+4], b[HeaderSize:HeaderSize+4]) {
			t.Errorf("%s: frame begins %x, Kafka's %x", g.Name, out[HeaderSize:], b[HeaderSize:])
		}
	}
}

func TestControlKeys(t *testing.T) {
	want := map[string]ControlType{
		"LeaderChange version 0": LeaderChange, "SnapshotHeader": SnapshotHeader, "SnapshotFooter": SnapshotFooter,
		"KRaftVersion": KRaftVersion, "KRaftVoters": KRaftVoters, "EndTxnMarker COMMIT": Commit, "EndTxnMarker ABORT": Abort,
	}
	for _, g := range goldens(t) {
		if g.Kind != "control-batch" {
			continue
		}
		key := unhex(t, g.RecordKeyHex)
		kind, err := ParseControlKey(key)
		if err != nil || kind != want[g.Name] {
			t.Errorf("%s: %v, %v", g.Name, kind, err)
		}
		if again := AppendControlKey(nil, kind); !bytes.Equal(again, key) {
			t.Errorf("%s: key %x, want %x", g.Name, again, key)
		}
	}
	if _, err := ParseControlKey([]byte{0, 0, 1}); err == nil {
		t.Error("a key of three bytes was taken")
	}
}
