package raftnode

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// sharedRead is what was read last for a peer. Peers that wait for the same records
// are answered in one step, and the log is read once.
type sharedRead struct {
	read raft.Read
	raw  []byte // nobody changes it
}

// readRecords adds the records an answer of ours stands for, which are checked: a
// peer could do nothing with damaged ones but ask for them again. See
// docs/design/quorum-disk-faults.md for what becomes of a node that finds them.
func (l *loop) readRecords(a raft.FetchAnswer) (raft.Body, []byte) {
	if a.Read.From >= a.Read.Below {
		return a, nil
	}
	if l.shared.raw != nil && l.shared.read == a.Read {
		return a, l.shared.raw
	}
	raw, err := l.n.log.Read(nil, a.Read.From, a.Read.Below, int(a.Read.MaxBytes))
	if err == nil {
		err = checkRead(raw, a.Read.From)
	}
	switch {
	case err == nil:
		l.shared = sharedRead{a.Read, raw}
		return a, raw
	case a.Read.From < l.n.log.Start():
		// It was cleaned away just now: the next fetch is told of a snapshot.
	case len(l.core.State().Voters) == 1:
		l.n.wire.log.warn("own log", "the metadata log is damaged; nobody else votes, so this node goes on, and sends none of that",
			"err", onceLogged(func() error { return l.n.whereDamaged(err, a.Read.From) }))
	default:
		l.damaged = l.n.whereDamaged(err, a.Read.From)
	}
	return raft.Refuse(raft.FetchRequest{}, kerr.KafkaStorageError, a.Hint), nil
}

// checkRead tells what is wrong with batches that were read from an offset on. The
// first one may begin before it.
func checkRead(raw []byte, from kafka.Offset) error {
	span, whole, err := spanOf(raw)
	switch {
	case err != nil:
		return err
	case len(whole) == 0 || span.Base > from || span.End <= from:
		return fmt.Errorf("%w: nothing that holds offset %d can be read there", batch.ErrCorrupt, from)
	}
	return nil
}

// onceLogged is an error that is worked out when it is logged.
type onceLogged func() error

// LogValue gives the error (slog.LogValuer).
func (f onceLogged) LogValue() slog.Value { return slog.AnyValue(f()) }

// whereDamaged names the file and the byte, as far as they can be found.
func (n *Node) whereDamaged(why error, from kafka.Offset) error {
	names, err := segmentNames(n.cfg.FS, n.cfg.Dir)
	for len(names) > 1 && segmentBase(names[1]) <= from {
		names = names[1:]
	}
	if err != nil || len(names) == 0 {
		return fmt.Errorf("the metadata log in %s is damaged at or behind offset %d: %w", n.cfg.Dir, from, why)
	}
	name := filepath.Join(n.cfg.Dir, names[0])
	pos, next := n.firstBad(name, segmentBase(names[0]))
	return fmt.Errorf("%s is damaged at byte %d, where offset %d belongs: %w", name, pos, next, why)
}

// firstBad is the place in a segment behind its last good batch, in bytes, and the
// offset that belongs there.
func (n *Node) firstBad(name string, next kafka.Offset) (pos int64, at kafka.Offset) {
	f, err := n.cfg.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return 0, next
	}
	defer f.Close()
	var in batchFile
	for r := bufio.NewReaderSize(f, inspectBytes); ; {
		h, _, err := in.next(r)
		if err != nil || h.BaseOffset != next {
			return pos, next
		}
		pos, next = pos+int64(h.Size()), h.End()
	}
}

// giveUpIfDamaged lets a node that found its own log damaged go, as after a write
// that failed: it resigns before anything else, so that a voter that holds the
// records leads.
func (l *loop) giveUpIfDamaged() {
	if err := l.damaged; err != nil {
		l.damaged = nil
		failed{err}.run(l)
	}
}
