package dirs

import "testing"

// FuzzClassify: the name of a folder is that of a partition, or it is not; that
// of a partition is the one we write for it.
func FuzzClassify(f *testing.F) {
	f.Add("t-0")
	f.Add("a-b-2147483647")
	f.Add("__cluster_metadata-0")
	f.Add("t-0.0123456789abcdef0123456789abcdef-delete")
	f.Fuzz(func(t *testing.T, name string) {
		kind, tp := classify(name)
		if kind != plainFolder {
			return
		}
		if folderName(tp) != name {
			t.Errorf("%q is %v, whose folder is %q", name, tp, folderName(tp))
		}
	})
}
