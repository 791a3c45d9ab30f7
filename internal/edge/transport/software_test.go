package transport

import "testing"

// A peer closes its door to a client whose name or version it cannot read.
func TestWhatAClientCallsItselfIsAlwaysAcceptable(t *testing.T) {
	f := func(given, want string) {
		t.Helper()
		if got := (ClientConfig{SoftwareName: "x", SoftwareVersion: given}).withDefaults().SoftwareVersion; got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
	f("1.2.3", "1.2.3")
	f("from source", "from-source")
	f("v0.0.0-2026+dirty", "v0.0.0-2026-dirty")
	f("(devel)", "devel")
	f("", "0")
	f(" ", "0")
}
