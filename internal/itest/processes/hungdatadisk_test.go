package processes

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// A disk that hangs gives no error. The broker notices, and the partitions on it are led
// by others, while those on its other disk are served on. When it answers again it comes
// back; and while it hangs it does not hold up the stop.
func TestADataDiskThatHangsIsTakenOffline(t *testing.T) {
	t.Parallel()
	disk := itest.NewDisk(t, 64)
	d1 := filepath.Join(itest.Folder(t), "d1")
	c := itest.StartClusterOf(t, 3, func(id int) string {
		more := quick + "ottla.disks.probe.interval.ms=200\nottla.disks.hang.limit.ms=1500\n"
		if id == 1 {
			more += "log.dirs=" + d1 + "," + disk.Dir
		}
		return more
	}, nil)
	node := c.Nodes[0]
	createReplicated(t, c.Addrs(), "t", 6)
	cl := client(t, c.Addrs())
	l := startLedger(t, c.Addrs(), "t")
	l.grows(t)
	here := len(folders(t, d1))
	for round := range 2 {
		disk.Hang(t)
		node.Says(t, "log directory is offline")
		itest.Eventually(t, func() error {
			kept := 0
			for _, p := range described(t, cl, "t").Partitions.Sorted() {
				switch {
				case p.Leader < 0:
					return errors.New("a partition has no leader")
				case len(p.OfflineReplicas) == 0 && len(p.ISR) == len(p.Replicas):
					kept++
				}
			}
			if kept != here {
				return errors.New("not the partitions of the other disk, and they alone, are whole")
			}
			return nil
		})
		l.grows(t)
		createOn(t, cl, fmt.Sprintf("new%d", round), 1, 1) // the broker follows metadata
		disk.Answer(t)
		itest.Eventually(t, func() error { return everyISR(t, cl, "t") })
	}
	disk.Hang(t)
	node.Terminate()
	node.Says(t, "msg=stopped")
	l.grows(t)
	disk.Answer(t) // the kernel ends no process that waits for a disk
	node.Wait(t)
	node.Again(t)
	node.AwaitReady(t)
	itest.Eventually(t, func() error { return everyISR(t, cl, "t") })
	l.wants(t, c.Addrs(), "t")
}
