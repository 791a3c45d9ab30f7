package vfs

import "testing"

// A file system that is mounted anew has lost what was not synced.
func TestTheBootIDTellsMountsApart(t *testing.T) {
	here, again, proc := OS{}.BootID(t.TempDir()), OS{}.BootID(t.TempDir()), OS{}.BootID("/proc")
	if here != again || here == proc {
		t.Errorf("boot ids are %q and %q, and of another mount %q", here, again, proc)
	}
	if gone := (OS{}).BootID("/nowhere"); gone == (OS{}).BootID("/nowhere") {
		t.Errorf("%q is trusted though the folder is unknown", gone)
	}
}
