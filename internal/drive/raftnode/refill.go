package raftnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrGap is wrapped by the error of Start for a controller whose log goes on from
// an offset before which nothing is left: no snapshot that reaches it is whole.
var ErrGap = errors.New("nothing holds what came before the log")

// refillEvery is how long a Refill rests after an answer that does not help.
const refillEvery = 500 * time.Millisecond

// Refill is a controller whose Start gave ErrGap, while it fetches the snapshot that it
// lacks. It asks the leader until the snapshot is here, and says once a minute what it
// waits for; then Start works.
//
// All that others rely on is still there: the vote, and the records that this node
// has acknowledged, up to the end of its log. So it votes, follows and copies
// meanwhile, without which there might be no leader to ask: a majority may have lost
// its snapshots at once. It never stands for election, for it cannot tell what its log
// comes to. See mute.
//
// What is missing was committed, and the same in the snapshot of any leader. So the
// controller keeps its directory id and its place. The snapshot has to reach the start
// of the log: an older one would leave a gap, and the log would have to go.
type Refill struct {
	node    *Node
	cfg     Config
	start   kafka.Offset      // of the log
	damaged []damagedSnapshot // to be set aside when there is a whole one
	failed  chan error        // holds one: the node cannot go on
	refused refusedVotes
	plaint  plaint
}

// StartRefill begins to vote and to copy with the metadata directory of a controller
// whose Start gave ErrGap. With nobody to ask for a snapshot it is an error.
func StartRefill(cfg Config) (*Refill, error) {
	cfg = cfg.withDefaults()
	if len(cfg.others()) == 0 {
		return nil, fmt.Errorf("%s: %w, and there is no other controller to ask for it; %s; if there is none, and others lead the cluster, %s", cfg.Dir, ErrGap, copyOne, cfg.wayOut())
	}
	r := &Refill{cfg: cfg, failed: make(chan error, 1), plaint: plaint{began: time.Now()}}
	dir, damaged, err := openMute(cfg)
	if err != nil {
		return nil, err
	}
	r.start, r.damaged = dir.stored.LogStart, damaged
	if r.node, err = run(context.Background(), cfg.mute(func(err error) { r.failed <- err }), dir); err != nil {
		return nil, err
	}
	return r, nil
}

// Handle answers requests of peers, see Node.Handle.
func (r *Refill) Handle(ctx context.Context, from RequestInfo, req kmsg.Request, reply func(kmsg.Response)) {
	if vote, ok := req.(*kmsg.VoteRequest); ok {
		r.refused.note(r.node, vote)
	}
	r.node.Handle(ctx, from, req, reply)
}

// View is what others may know of the node.
func (r *Refill) View() *View { return r.node.View() }

// Run returns when the snapshot is here, the disk has failed or ctx has ended. The
// node has left the quorum then.
func (r *Refill) Run(ctx context.Context) error {
	return errors.Join(r.search(ctx), r.node.Stop(context.WithoutCancel(ctx)))
}

func (r *Refill) search(ctx context.Context) error {
	for {
		err := r.round(ctx)
		if err == nil {
			return nil
		}
		if failed := new(diskError); errors.As(err, &failed) {
			return failed.err
		}
		r.complain(err)
		select {
		case failed := <-r.failed:
			return failed
		default:
		}
		if rest(ctx) != nil {
			return fmt.Errorf("%s: %w, and no leader gave it: %w", r.cfg.Dir, ErrGap, err)
		}
	}
}

// rest waits for refillEvery, or gives the reason why ctx has ended.
func rest(ctx context.Context) error {
	timer := time.NewTimer(refillEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// diskError is a failure of our own disk, which asking again does not mend.
type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }

func asDiskError(err error) error {
	if err == nil {
		return nil
	}
	return &diskError{err}
}

// errUnhelpful: a leader was asked, and has no snapshot that would do.
var errUnhelpful = errors.New("the leader has none yet, and makes one by itself in time")

// others are the addresses of controllers in the settings, without our own.
func (c Config) others() (all []raft.Endpoint) {
	own := func(at raft.Endpoint) bool {
		same := func(e raft.Endpoint) bool { return e.Host == at.Host && e.Port == at.Port }
		self, voter := c.Voters.Node(c.Self.Node)
		return slices.ContainsFunc(c.Endpoints, same) || voter && slices.ContainsFunc(self.Endpoints, same)
	}
	for _, v := range c.Voters {
		all = append(all, v.Endpoints...)
	}
	return slices.DeleteFunc(append(all, c.Bootstrap...), own)
}

// leader is whom this round asks, in its epoch. That and the leader are durable in the
// election state, so that nothing of a later epoch comes into the directory before it.
type leader struct {
	at    raft.Endpoint
	epoch kafka.Epoch
}

// round asks the leader that this node follows.
func (r *Refill) round(ctx context.Context) error {
	v := r.node.View()
	if v.LogStart > r.start { // its log was so far ahead that the snapshot came in the place of ours
		return asDiskError(r.setAside())
	}
	if v.Leader == kafka.NoNode || v.Leader == r.cfg.Self.Node || len(v.LeaderEndpoints) == 0 {
		return fmt.Errorf("no leader is known in epoch %d", v.Epoch)
	}
	at, ok := v.LeaderEndpoints.Named(r.cfg.Listener)
	if !ok {
		at = v.LeaderEndpoints[0]
	}
	l := leader{at, v.Epoch}
	id, err := r.offered(ctx, l)
	if err != nil {
		return err
	}
	return r.fetch(ctx, l, id)
}

// stranger is as whom the leader is asked: what it knows of how far this node has
// come is not to change.
var stranger = kafka.ReplicaKey{Node: kafka.NoNode}

// offered asks a leader for records from offset 0, for which it names its latest
// snapshot.
func (r *Refill) offered(ctx context.Context, l leader) (id SnapshotID, err error) {
	body, _, err := r.ask(ctx, l.at, raft.FetchRequest{
		Replica: stranger, Epoch: l.epoch, MaxBytes: 1, HighWatermark: raft.HighWatermarkUnsupported,
	})
	if err != nil {
		return id, err
	}
	a, ok := body.(raft.FetchAnswer)
	switch {
	case !ok:
		err = fmt.Errorf("%s answers a fetch with %T", hostPort(l.at), body)
	case a.Err != kerr.None:
		err = fmt.Errorf("%s does not lead: %w", hostPort(l.at), a.Err)
	case a.Snapshot == nil:
		err = fmt.Errorf("%w: the one at %s has made no snapshot", errUnhelpful, hostPort(l.at))
	case a.Snapshot.Epoch > l.epoch:
		err = fmt.Errorf("the leader at %s is in epoch %d and names snapshot %s", hostPort(l.at), l.epoch, snapshotName(*a.Snapshot))
	case a.Snapshot.EndOffset < r.start:
		err = fmt.Errorf("%w: its snapshot %s ends before offset %d, where the log starts", errUnhelpful, snapshotName(*a.Snapshot), r.start)
	default:
		id = *a.Snapshot
	}
	return id, err
}

// fetch downloads a snapshot, and puts it in its place when it is whole.
func (r *Refill) fetch(ctx context.Context, l leader, id SnapshotID) error {
	part := filepath.Join(r.cfg.Dir, snapshotStem(id)+partSuffix)
	file, err := r.cfg.FS.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return asDiskError(fmt.Errorf("creating snapshot: %w", err))
	}
	defer file.Close()
	for position, size := int64(0), int64(1); position < size; {
		raw, all, err := r.piece(ctx, l, id, position)
		if err != nil {
			return err
		}
		if _, err := file.Write(raw); err != nil {
			return asDiskError(fmt.Errorf("writing snapshot %s: %w", snapshotName(id), err))
		}
		position, size = position+int64(len(raw)), all
	}
	switch _, damage, err := verifySnapshot(r.cfg.FS, part, id); {
	case err != nil:
		return asDiskError(err)
	case damage != nil:
		return fmt.Errorf("snapshot %s arrived damaged: %w", snapshotName(id), damage)
	}
	if err := r.setAside(); err != nil {
		return asDiskError(err)
	}
	if err := publishSnapshot(r.cfg.FS, file, part, r.cfg.Dir, id); err != nil {
		return asDiskError(err)
	}
	r.cfg.Log.Warn("the leader's snapshot takes the place of what was lost", "snapshot", snapshotName(id), "leader", hostPort(l.at))
	return nil
}

// setAside takes the damaged snapshots out of the way of a whole one.
func (r *Refill) setAside() error {
	for _, d := range r.damaged {
		name := filepath.Join(r.cfg.Dir, snapshotName(d.id))
		_, damage, err := verifySnapshot(r.cfg.FS, name, d.id)
		if err != nil {
			return err
		}
		if damage == nil {
			continue // the node itself was sent one of that name meanwhile
		}
		r.cfg.Log.Error("a snapshot is damaged and is set aside for the leader's", "snapshot", name,
			"now", snapshotStem(d.id)+damagedSuffix, "err", d.why)
		if err := setAside(r.cfg, d.id); err != nil {
			return err
		}
	}
	r.damaged = nil
	return nil
}

// pieceTries is how often one piece of a snapshot is asked for: an answer that is
// lost does not cost what came before.
const pieceTries = 5

// piece asks for a piece of a snapshot; size is that of the whole.
func (r *Refill) piece(ctx context.Context, l leader, id SnapshotID, position int64) (raw []byte, size int64, err error) {
	var body raft.Body
	for range pieceTries {
		body, raw, err = r.ask(ctx, l.at, raft.SnapshotRequest{Replica: stranger, Epoch: l.epoch, ID: id, Position: position, MaxBytes: r.cfg.Timing.ChunkBytes})
		if err == nil || rest(ctx) != nil {
			break
		}
	}
	if err != nil {
		return nil, 0, err
	}
	a, ok := body.(raft.SnapshotAnswer)
	switch {
	case !ok:
		err = fmt.Errorf("%s answers a fetch of a snapshot with %T", hostPort(l.at), body)
	case a.Err != kerr.None:
		err = fmt.Errorf("%s does not send snapshot %s: %w", hostPort(l.at), snapshotName(id), a.Err)
	case a.ID != id || a.Position != position || len(raw) == 0:
		err = fmt.Errorf("%s sends %d bytes of %s from %d on, not of %s from %d", hostPort(l.at), len(raw), snapshotName(a.ID), a.Position, snapshotName(id), position)
	}
	return raw, a.Size, err
}

// ask sends a request and waits for its answer.
func (r *Refill) ask(ctx context.Context, at raft.Endpoint, body raft.Body) (raft.Body, []byte, error) {
	type outcome struct {
		resp kmsg.Response
		err  error
	}
	got := make(chan outcome, 1)
	w := r.node.wire
	r.cfg.Bulk.Send(kafka.NoNode, hostPort(at), w.ask(body), func(resp kmsg.Response, err error) { got <- outcome{resp, err} })
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case o := <-got:
		if o.err != nil {
			return nil, nil, fmt.Errorf("%s does not answer: %w", hostPort(at), o.err)
		}
		answer, raw, code := w.readAnswer(o.resp)
		if code != kerr.None {
			return nil, nil, fmt.Errorf("%s refuses: %w", hostPort(at), code)
		}
		return answer, raw, nil
	}
}
