package raftnode

import "testing"

// However many strangers wait, what the node itself and its peers ask is looked at
// first; and however much that is, a stranger gets its turn.
func TestStrangersWaitBehindPeers(t *testing.T) {
	q := turns{inner: make(chan item, 100), outer: make(chan item, 100)}
	for range 100 {
		q.inner <- nil
		q.outer <- nil
	}
	taken := func() string {
		inner, outer := q.next()
		switch {
		case inner != nil && outer != nil:
			return "either"
		case inner != nil:
			<-inner
			return "inner"
		}
		<-outer
		return "outer"
	}
	for i := range 2 * (innerFirst + 1) {
		want := "inner"
		if i%(innerFirst+1) == innerFirst {
			want = "outer"
		}
		if got := taken(); got != want {
			t.Fatalf("turn %d: %s, not %s", i, got, want)
		}
	}
	for len(q.inner) > 0 {
		<-q.inner
	}
	if got := taken(); got != "either" {
		t.Errorf("with nothing inside: %s", got)
	}
}
