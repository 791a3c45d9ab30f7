package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// folders are the partitions that lie in a directory.
func folders(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "t-*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range found {
		found[i] = filepath.Base(path)
	}
	return found
}

// A node starts although the disk of one directory is missing or new, and serves what
// lies in the other one. Nothing is born again there (J-02), and with the disk back
// all is as it was.
func TestANodeStartsWithoutOneOfItsDisks(t *testing.T) {
	t.Parallel()
	d1, d2 := filepath.Join(itest.Folder(t), "d1"), filepath.Join(itest.Folder(t), "d2")
	c := itest.StartCluster(t, 1, quick+"log.dirs="+d1+","+d2, nil)
	n := c.Nodes[0]
	create(t, n.Addr, "t", 6, nil)
	cl := client(t, n.Addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range int32(6) {
		if err := cl.ProduceSync(patience(t), &kgo.Record{Topic: "t", Partition: p, Value: fmt.Append(nil, p)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	here, there := folders(t, d1), folders(t, d2)
	if len(here) == 0 || len(there) == 0 {
		t.Fatalf("%v in d1 and %v in d2", here, there)
	}
	away := d2 + ".away"
	n.Stop(t)
	if err := os.Rename(d2, away); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"missing", "empty"} {
		if absent == "empty" {
			if err := os.Mkdir(d2, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		n.Again(t)
		n.AwaitReady(t)
		n.Says(t, d2+" is not formatted")
		itest.Eventually(t, func() error {
			offline := 0
			for _, p := range described(t, cl, "t").Partitions.Sorted() {
				name := fmt.Sprintf("t-%d", p.Partition)
				if slices.Contains(here, name) != (p.Leader == 1) || slices.Contains(there, name) != slices.Contains(p.OfflineReplicas, 1) {
					return fmt.Errorf("%s is led by %d with %v offline", name, p.Leader, p.OfflineReplicas)
				}
				offline += len(p.OfflineReplicas)
			}
			if offline != len(there) {
				return fmt.Errorf("%d replicas are offline", offline)
			}
			return nil
		})
		if out, err := itest.Run("", exec.Command(itest.Bin(t), "disks", "replace", d2, "--same-device", "--config", n.File())); err == nil {
			t.Fatalf("what is nowhere else was given up: %s", out)
		}
		// What changes the replicas' settings must not make them anew either.
		value := "60000"
		if _, err := kadm.NewClient(cl).AlterTopicConfigs(patience(t), []kadm.AlterConfig{{Name: "segment.ms", Value: &value}}, "t"); err != nil {
			t.Fatal(err)
		}
		if got := folders(t, d1); !slices.Equal(got, here) {
			t.Errorf("d2 is %s: d1 holds %v, had %v", absent, got, here)
		}
		if got := folders(t, d2); len(got) > 0 {
			t.Errorf("d2 is %s and holds %v", absent, got)
		}
		n.Stop(t)
	}
	if err := os.Remove(d2); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, d2); err != nil {
		t.Fatal(err)
	}
	n.Again(t)
	n.AwaitReady(t)
	if got := readAll(t, n.Addr, "t"); len(got) != 6 {
		t.Errorf("read back %v", got)
	}
}
