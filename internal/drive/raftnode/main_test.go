package raftnode

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine has someone who stops it and waits for it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
