package peer

import "testing"

// What is lost, doubled or out of order is found.
func TestAuditFindsWhatIsWrong(t *testing.T) {
	acked := map[entry]bool{{0, 0}: true, {0, 1}: true, {1, 0}: true}
	f := func(lost, twice, wrong int, values ...string) {
		t.Helper()
		a := audit{seen: map[entry]int{}, last: map[lane]int{}}
		for offset, v := range values {
			a.read(0, int64(offset), v)
		}
		l, d := a.compare(acked)
		if l != lost || d != twice || len(a.wrong) != wrong {
			t.Errorf("%v: %d lost, %d twice, out of place %v", values, l, d, a.wrong)
		}
	}
	f(0, 0, 0, "0 0", "1 0", "0 1")
	f(0, 0, 0, "0 0", "1 0", "0 1", "0 2") // not acknowledged, and there
	f(1, 0, 0, "0 0", "1 0")
	f(0, 1, 1, "0 0", "1 0", "1 0", "0 1") // a double is not in order either
	f(0, 0, 1, "0 1", "0 0", "1 0")
	f(0, 0, 1, "0 0", "1 0", "0 1", "nonsense")
}
