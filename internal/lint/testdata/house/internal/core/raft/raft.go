// Package raft breaks every rule of a deciding room on purpose.
package raft

import (
	"math/rand/v2"
	"os"
	"time"

	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

var _ = vfs.FS(nil)
var _ = storage.Log{}

// Votes is ranged over in an order that shows.
func Votes(votes map[int]bool) (granted []int) {
	for id := range votes {
		granted = append(granted, id)
	}
	// any order: it is only counted.
	for range votes {
		granted = append(granted, 0)
	}
	go func() { granted = append(granted, rand.IntN(3), int(time.Now().Unix()), os.Getpid()) }()
	return granted
}
