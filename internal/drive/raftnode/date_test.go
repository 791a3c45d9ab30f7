package raftnode

import (
	"testing"
	"testing/synctest"
	"time"
)

// The core is told the date at every start, or what it believes of far epochs would
// differ from node to node.
func TestTheCoreIsToldTheDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			if got, want := (Config{}).core().Unix, time.Now().Unix(); got != want {
				t.Errorf("told %d, it is %d", got, want)
			}
			time.Sleep(time.Hour)
		}
	})
}
