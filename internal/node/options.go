// Package node puts the parts of a node together: which parts a role needs, how
// they are wired, and in which order they start and stop. It has no behaviour
// of its own.
package node

import (
	"log/slog"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Options say which node to run.
type Options struct {
	Config *config.Config
	// FS is the disk; nil is the operating system's.
	FS  vfs.FS
	Log *slog.Logger
	// Ready is called once, when clients are served.
	Ready func(Addresses)
	// Version is what the node calls itself towards peers.
	Version string
}

// Addresses are where a node listens.
type Addresses struct {
	// Listeners are the bound addresses by listener name.
	Listeners map[string]string
	// Metrics is the address of /metrics and /ready, or empty.
	Metrics string
}
