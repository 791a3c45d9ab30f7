package dirs

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Rule (KIP-1066): a cordoned directory is chosen for no new replica while another one
// works; one that is named gets it, and what lies there stays.
func TestCordonedDirectoriesTakeNoNewReplicas(t *testing.T) {
	n := formatted(t)
	n.start()
	there := n.create("there", 0, ids[1])
	n.Cordon([]string{paths[1] + "/"})
	if got := n.Cordoned(); !slices.Equal(got, []kafka.DirID{ids[1]}) {
		t.Errorf("cordoned are %v", got)
	}
	for i := range kafka.PartitionID(4) {
		if _, dir, err := n.Create(tp("new", i), topicID, kafka.DirID{}, testConfig()); err != nil || dir == ids[1] {
			t.Errorf("new-%d: in %s, %v", i, dir, err)
		}
	}
	if _, dir, err := n.Create(tp("named", 0), topicID, ids[1], testConfig()); err != nil || dir != ids[1] {
		t.Errorf("the named directory: in %s, %v", dir, err)
	}
	n.append(there, "1")
	for i, info := range n.Describe() {
		if info.Cordoned != (info.ID == ids[1]) {
			t.Errorf("directory %d is told as cordoned: %v", i, info.Cordoned)
		}
	}
	n.Cordon([]string{"*"})
	if got := n.Cordoned(); len(got) != len(paths) {
		t.Errorf("of all, %v are cordoned", got)
	}
	if _, _, err := n.Create(tp("last", 0), topicID, kafka.DirID{}, testConfig()); err != nil {
		t.Errorf("with all directories cordoned: %v", err)
	}
	n.Cordon(nil)
	if got := n.Cordoned(); got == nil || len(got) != 0 {
		t.Errorf("after all, %v are cordoned", got)
	}
}
