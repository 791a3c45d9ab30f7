package kafka

import "testing"

// Groups and transactional ids live in the partition abs(javaHash) mod n, where
// the smallest hash counts as 0.
func TestCoordinatedBy(t *testing.T) {
	f := func(id string, hash, want int32) {
		t.Helper()
		if got := javaHash(id); got != hash {
			t.Errorf("hash of %q is %d, want %d", id, got, hash)
		}
		if got := CoordinatedBy(id, 50); got != want {
			t.Errorf("partition of %q is %d, want %d", id, got, want)
		}
	}
	f("", 0, 0)
	f("hello", 99162322, 22)
	f("Aa", 2112, 12)
	f("BB", 2112, 12)
	f("\U0001f600", 1772899, 49)            // a surrogate pair
	f("polygenelubricants", -2147483648, 0) // no absolute value
	f("test-consumer-group", javaHash("test-consumer-group"), CoordinatedBy("test-consumer-group", 50))
}
