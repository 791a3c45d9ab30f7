package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// watchful reads old segments all the time and begins new ones often.
const watchful = quick + `log.roll.ms=20
ottla.scrub.interval.ms=500
`

// Bytes rot in old segments of a follower and of the leader, in different places.
// Each broker finds that by itself and mends it with what the others hold, byte by
// byte, while it serves.
func TestRottenSegmentsAreMended(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, watchful, nil)
	createReplicated(t, c.Addrs(), "t", 1)
	want := numbered("v", 400)
	for i := 0; i < len(want); i += 20 {
		itest.Ottla(t, lines(want[i:i+20]), "produce", "--topic", "t", "--bootstrap-server", c.Addrs())
	}
	equalReplicas(t, c, "t", 1, len(want))
	lead := c.Nodes[described(t, client(t, c.Addrs()), "t").Partitions[0].Leader-1]
	follower := c.Nodes[lead.ID%3]
	rot(t, follower, 100)
	rot(t, lead, 150)
	for _, n := range []*itest.Node{follower, lead} {
		n.Says(t, "damage was found in a log")
		n.Says(t, "the damage is mended with what another replica holds")
	}
	equalReplicas(t, c, "t", 1, len(want))
	got := 0
	for _, values := range readAll(t, lead.Addr, "t") {
		got += len(values)
	}
	if got != len(want) {
		t.Errorf("%d of %d records are read", got, len(want))
	}
}

// rot changes one byte of the oldest segment of t-0.
func rot(t *testing.T, n *itest.Node, at int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.Data, "t-0", "*.log"))
	if err != nil || len(files) < 2 {
		t.Fatal(fmt.Sprint("no old segments: ", files, err))
	}
	f, err := os.OpenFile(slices.Min(files), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}
