package batch

import (
	"encoding/hex"
	"testing"
)

// The bytes are those of MemoryRecords.withEndTransactionMarker of Apache Kafka
// 4.4.0.
func TestMarkersAreKafkasByteByByte(t *testing.T) {
	m := EndTxn{Producer: 4711, Epoch: 3, Coordinator: 7, TimestampMs: 1_700_000_000_123}
	f := func(commit bool, want string) {
		t.Helper()
		m.Commit = commit
		if got := hex.EncodeToString(AppendEndTxn(nil, m)); got != want {
			t.Errorf("commit %v: we write\n%s\nand Apache Kafka\n%s", commit, got, want)
		}
	}
	f(true, "000000000000000000000042ffffffff02ed0e0fdf0030000000000000018bcfe5687b0000018bcfe5687b00000000000012670003ffffffff000000012000000008000000010c00000000000700")
	f(false, "000000000000000000000042ffffffff021930d9970030000000000000018bcfe5687b0000018bcfe5687b00000000000012670003ffffffff000000012000000008000000000c00000000000700")
}

func TestAMarkerOfALogWithAppendTimeSaysSo(t *testing.T) {
	b := AppendEndTxn(nil, EndTxn{Producer: 1, TimestampMs: 5, AppendTime: true})
	h, err := ParseHeader(b)
	if err != nil || !h.LogAppendTime() || h.MaxTimestamp != 5 || !h.Control() || !h.Transactional() || !CheckCRC(b) {
		t.Errorf("%+v, %v", h, err)
	}
}
