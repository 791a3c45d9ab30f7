// Package node puts the parts of a node together: which parts a role needs, how
// they are wired, and in which order they start and stop. It has no behaviour
// of its own.
package node

import (
	"io"
	"log/slog"
	"net"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Options say which node to run.
type Options struct {
	Config *config.Config
	// FS is the disk; nil is the operating system's.
	FS  vfs.FS
	Log *slog.Logger
	// Sockets are open already, by the names of their listeners: for who must know
	// a port that the system chooses before the node runs. The node closes them.
	Sockets map[string]net.Listener
	// Ready is called once, when clients are served.
	Ready func(Addresses)
	// Version is what the node calls itself towards peers.
	Version string
	// QuorumTrace is where every step of the quorum's core is written, in the form
	// that package quorumtrace checks; nil is nowhere. It costs a write for each.
	QuorumTrace io.Writer
	// Company are the nodes that it stops together with, or nil.
	Company *Company
}

// Addresses are where a node listens.
type Addresses struct {
	// Listeners are the bound addresses by listener name.
	Listeners map[string]string
	// Metrics is the address of /metrics and /ready, or empty.
	Metrics string
}
