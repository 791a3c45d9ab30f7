package metarec

import (
	"reflect"
	"testing"
)

// A GroupReader reads every record as the functions do, whatever it has read
// before: nothing of an earlier commit shines through.
func TestGroupReaderForgets(t *testing.T) {
	var r GroupReader
	var key []byte
	for range 2 {
		for _, g := range goldens(t) {
			switch {
			case g.Family != "group-coordinator" || g.FramedHex == "":
				continue
			case isKey(g.Name):
				key = unhex(t, g.FramedHex)
				continue
			}
			want, err := ReadGroupKey(key)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Key(key)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: key %+v, %v; want %+v", g.Name, got, err, want)
			}
			value := unhex(t, g.FramedHex)
			wantValue, wantVersion, err := ReadGroupValue(want, value)
			if err != nil {
				continue // the value of another key
			}
			gotValue, version, err := r.Value(got, value)
			if err != nil || version != wantVersion || !reflect.DeepEqual(gotValue, wantValue) {
				t.Fatalf("%s: value %+v at %d, %v; want %+v", g.Name, gotValue, version, err, wantValue)
			}
		}
	}
	full := &OffsetCommitValue{Offset: 7, LeaderEpoch: 8, Metadata: "m", CommitTimestamp: 9, ExpireTimestamp: 10, TopicId: [16]byte{11}}
	old, err := AppendCoordinatorValue(nil, &OffsetCommitValue{Offset: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.value = *full
	got, _, err := r.Value(NewOffsetCommitKey(), old)
	if v := got.(*OffsetCommitValue); err != nil || v.LeaderEpoch != -1 || v.ExpireTimestamp != -1 || v.Metadata != "" || !v.TopicId.IsZero() {
		t.Errorf("%+v, %v", v, err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _, err = r.Value(NewOffsetCommitKey(), old) }); n > 1 || err != nil {
		t.Errorf("a value of a commit allocates %v times, %v", n, err)
	}
}
