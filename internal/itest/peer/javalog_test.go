package peer

import "testing"

func TestTroubleInAJavaLogIsFound(t *testing.T) {
	f := func(want int, log string) {
		t.Helper()
		if found := bad(log); len(found) != want {
			t.Errorf("%q: %d lines of trouble: %v", log, len(found), found)
		}
	}
	f(0, "[2026-11-30 14:00:00,000] INFO all is well (kafka.Kafka)\n[2026-11-30 14:00:00,001] WARN nearly (kafka.Kafka)")
	f(1, "[2026-11-30 14:00:00,000] ERROR it is not (kafka.Kafka)")
	f(1, "[2026-11-30 14:00:00,000] FATAL it is over (kafka.Kafka)")
	f(0, "said [2026-11-30 14:00:00,000] ERROR of another (x)")
	// What is expected is named in the line itself or by its exception.
	f(0, "[2026-11-30 14:00:00,000] ERROR Exceptionally slow controller event x took 1 ms (q)")
	f(0, "[2026-11-30 14:00:00,000] ERROR Request failed (x)\norg.apache.kafka.common.errors.NotLeaderOrFollowerException: y")
	f(1, "[2026-11-30 14:00:00,000] ERROR Request failed (x)\n[2026-11-30 14:00:00,000] INFO NotLeaderOrFollowerException (y)")
}
