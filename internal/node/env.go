package node

import (
	"io"
	"log/slog"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/base/vfs"
)

// env is what every part of a node is given: its settings and its disk, and whom
// to tell.
type env struct {
	cfg     *config.Config
	self    *config.Node // cfg's
	fs      vfs.FS
	levels  *metrics.Levels // of log and of the parts'
	log     *slog.Logger
	version string // what the node calls itself towards peers
	watched *watched
	failure *failure
	company *Company
	live    *liveSettings
	traced  io.Writer // of the quorum's steps, or nil
}

func newEnv(opt Options) *env {
	e := &env{
		cfg: opt.Config, self: opt.Config.Node(), fs: opt.FS, version: opt.Version,
		watched: newWatched(opt.Config.String("ottla.metrics.listener")), failure: newFailure(),
		company: opt.Company, traced: opt.QuorumTrace,
	}
	if e.fs == nil {
		e.fs = vfs.OS{}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	e.levels = metrics.LevelsOf(opt.Log)
	e.log = e.levels.Root()
	e.live = newLiveSettings(e.cfg, e.part("settings"))
	return e
}

// part is the log of one part of the node.
func (e *env) part(name string) *slog.Logger { return e.levels.Part(name) }
