package coordnode

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/group"
)

// loadBytes is how much of a log is read at once.
const loadBytes = 1 << 20

// load reads the partition and opens it for requests. It is the only one to
// touch the shard until then.
func (p *partition) load() {
	defer p.node.work.Done()
	began := time.Now()
	records, err := p.replay()
	var topics []group.Topic
	if err == nil {
		topics = p.shard.Topics()
	}
	p.mu.Lock()
	switch {
	case p.state == closing:
		p.working = true
		p.mu.Unlock()
		p.end(nil)
		return
	case err != nil:
		p.state, p.shard = closed, nil // answers NOT_COORDINATOR until somebody else leads
		p.mu.Unlock()
		p.node.cfg.Logger.Error("group coordinator could not load its partition", "partition", int32(p.id), "epoch", int32(p.epoch), "error", err)
		return
	}
	p.state = active
	p.mail = append(p.mail, group.Loaded{})
	if gone := p.gone(topics); len(gone) > 0 {
		p.mail = append(p.mail, group.TopicsDeleted{Topics: gone})
	}
	p.deleted = nil
	p.wake()
	p.mu.Unlock()
	p.node.metrics.Load.Saw(time.Since(began))
	if records > 0 {
		p.node.cfg.Logger.Info("group coordinator loaded", "partition", int32(p.id), "epoch", int32(p.epoch), "records", records, slog.Duration("took", time.Since(began)))
	}
}

// gone picks the topics that metadata does not have, or no longer under that id:
// whoever led before may have ended between a deletion and the tombstones. A
// commit names a topic that its coordinator's metadata has, and ours, which made
// us the leader, is no older than that of any coordinator before us. Offsets that
// do not say for which topic they were committed go with one that was deleted
// while the log was loaded. mu is held.
func (p *partition) gone(topics []group.Topic) []group.Topic {
	return slices.DeleteFunc(topics, func(topic group.Topic) bool {
		now, exists := p.node.cfg.TopicID(topic.Name)
		if topic.ID.IsZero() {
			_, deleted := p.deleted[topic.Name]
			return exists && !deleted
		}
		return exists && now == topic.ID
	})
}

// replay feeds the whole log to the shard.
func (p *partition) replay() (records int, err error) {
	log := p.node.cfg.Log
	at, end, err := log.Bounds(p.id, p.epoch)
	if err != nil {
		return 0, err
	}
	if err := p.settled(end); err != nil {
		return 0, err
	}
	select {
	case p.node.loads <- struct{}{}:
		defer func() { <-p.node.loads }()
	case <-p.node.ctx.Done():
		return 0, p.node.ctx.Err()
	}
	var buf []byte
	var decoder batch.Decoder
	for at < end && !p.left() {
		buf, err = log.Read(p.id, p.epoch, at, loadBytes, buf[:0])
		if err != nil {
			return records, fmt.Errorf("read from offset %d: %w", at, err)
		}
		next, n, err := p.replayBatches(&decoder, buf, at)
		if err != nil {
			return records, err
		}
		if next <= at {
			return records, fmt.Errorf("no batch at offset %d below the end %d", at, end)
		}
		at, records = next, records+n
	}
	return records, nil
}

// left tells that the load is of no use any more.
func (p *partition) left() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state != loading
}

func (p *partition) replayBatches(d *batch.Decoder, b []byte, at kafka.Offset) (next kafka.Offset, records int, err error) {
	next = at
	for h, whole := range batch.All(b) {
		producer := kafka.NoProducer
		if h.Transactional() {
			producer = h.ProducerID
		}
		for r, err := range d.SharedRecords(whole) {
			if err == nil {
				err = p.replayRecord(h, producer, r)
			}
			if err != nil {
				return next, records, fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
			}
			records++
		}
		next = h.End()
	}
	return next, records, nil
}

func (p *partition) replayRecord(h batch.Header, producer kafka.ProducerID, r batch.Record) error {
	if !h.Control() {
		return p.shard.Replay(producer, r.Key, r.Value)
	}
	kind, err := batch.ParseControlKey(r.Key)
	if err == nil && (kind == batch.Commit || kind == batch.Abort) {
		p.shard.ReplayMarker(h.ProducerID, kind == batch.Commit)
	}
	return err
}

// settled waits until all that was in the log at the election is committed: an
// offset that a client has been shown must not go back when this leader is lost.
func (p *partition) settled(end kafka.Offset) error {
	reached := make(chan error, 1)
	p.node.cfg.Log.Committed(p.id, p.epoch, end, func(err error) { reached <- err })
	select {
	case err := <-reached:
		return err
	case <-p.node.ctx.Done():
		return p.node.ctx.Err()
	}
}
