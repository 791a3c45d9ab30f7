package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/itest"
)

// Of three controllers one is down, the others commit topics and are killed, and a
// bit of the metadata log of one of them flips. Had that one cut its log there, it
// would lead the one that knows nothing, and the third would cut what was committed.
// It does not start, and once its directory is formatted anew, as it says, while
// the others have a leader, nothing is lost.
func TestAFlippedBitOfTheMetadataLogLosesNothing(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	down := c.Nodes[c.Active(t).ID%3]
	down.Kill()
	var up []*itest.Node
	for _, n := range c.Nodes {
		if n != down {
			up = append(up, n)
		}
	}
	made := map[string]madeTopic{}
	addrs := up[0].Addr + "," + up[1].Addr
	admin := kadm.NewClient(client(t, addrs))
	for i := range 60 {
		topic := fmt.Sprint("made-", i)
		got, err := admin.CreateTopic(patience(t), 2, 2, nil, topic)
		if err != nil {
			t.Fatal(err)
		}
		made[topic] = madeTopic{got.ID, 2}
	}
	itest.KillAll([]*itest.Proc{up[0].Proc, up[1].Proc})
	damaged, whole := up[0], up[1]
	flipInTheMiddle(t, damaged)

	down.Again(t)
	damaged.Again(t)
	if code := damaged.Wait(t); code == 0 {
		t.Fatalf("it stopped as if all were well:\n%s", damaged.Output())
	}
	if out := damaged.Output(); strings.Count(out, "is damaged at byte ") != 1 || !strings.Contains(out, "format the directory anew") || strings.Contains(out, "cut a torn end") {
		t.Fatalf("it does not say in one line what is damaged and what to do:\n%s", out)
	}
	whole.Again(t)
	for _, n := range []*itest.Node{down, whole} {
		n.AwaitReady(t)
		allThere(t, n.Addr, made)
	}
	if err := os.RemoveAll(damaged.Data); err != nil {
		t.Fatal(err)
	}
	damaged.Format(t)
	damaged.Again(t)
	damaged.AwaitReady(t)
	for _, n := range c.Nodes {
		allThere(t, n.Addr, made)
	}
}

// flipInTheMiddle flips a bit of a record in the middle of the metadata log of a
// node that does not run.
func flipInTheMiddle(t *testing.T, n *itest.Node) {
	t.Helper()
	name := filepath.Join(metadataOf(n), "00000000000000000000.log")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, one := range batch.All(b) {
		if at += len(one); at > len(b)/2 {
			break
		}
	}
	if at <= len(b)/2 || at == len(b) {
		t.Fatalf("%s of %d bytes has no batch in its middle", kafka.MetadataTopic, len(b))
	}
	b[at-1] ^= 1
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
