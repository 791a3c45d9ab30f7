package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// maxAssignments is the most replicas that one AssignReplicasToDirs names, as
// in Apache Kafka.
const maxAssignments = 2250

// Bounds of the wait after a failed report.
const (
	firstAssignWait = 100 * time.Millisecond
	lastAssignWait  = 10 * time.Second
)

// assigner tells the controller in which directory replicas lie (KIP-858). The
// newest report for a replica replaces an older one; a report leaves the queue
// when the controller has committed it, or says that it concerns nobody.
// The queue holds at most one entry a replica of this broker.
type assigner struct {
	life *Lifecycle
	wake chan struct{} // room for one

	mu    sync.Mutex
	queue map[kafka.TopicIDPartition]kafka.DirID
}

func newAssigner(l *Lifecycle) *assigner {
	return &assigner{life: l, wake: make(chan struct{}, 1), queue: map[kafka.TopicIDPartition]kafka.DirID{}}
}

func (a *assigner) add(replica kafka.TopicIDPartition, dir kafka.DirID) {
	a.mu.Lock()
	a.queue[replica] = dir
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default: // awake already
	}
}

func (a *assigner) remove(replica kafka.TopicIDPartition) {
	a.mu.Lock()
	_, had := a.queue[replica]
	delete(a.queue, replica)
	left := len(a.queue)
	a.mu.Unlock()
	if had && left == 0 {
		a.life.hurryUnfencing()
	}
}

func (a *assigner) has(replica kafka.TopicIDPartition) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, queued := a.queue[replica]
	return queued
}

func (a *assigner) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue)
}

func (a *assigner) byDir() map[kafka.DirID]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := map[kafka.DirID]int{}
	for _, dir := range a.queue {
		counts[dir]++
	}
	return counts
}

// run reports until ctx ends, one request at a time.
func (a *assigner) run(ctx context.Context) {
	wait := firstAssignWait
	for {
		if a.len() == 0 {
			select {
			case <-a.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		if err := a.report(ctx); err == nil {
			wait = firstAssignWait
			continue
		} else if ctx.Err() == nil {
			a.life.cfg.Log.Warn("directory assignments not taken", "queued", a.len(), "err", err)
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, lastAssignWait)
	}
}

// report sends one request and takes from the queue what it settled.
func (a *assigner) report(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*a.life.cfg.HeartbeatInterval)
	defer cancel()
	sent := a.batch()
	got, err := a.life.cfg.Controller.Do(ctx, a.request(sent))
	if err != nil {
		return err
	}
	reply, ok := got.(*kmsg.AssignReplicasToDirsResponse)
	if !ok {
		return errors.New("the controller answered with something else")
	}
	if code := kerr.Code(reply.ErrorCode); code != kerr.None {
		return code
	}
	if a.settle(sent, reply) == 0 {
		return errors.New("the controller settled none of the assignments")
	}
	if a.len() == 0 {
		a.life.hurryUnfencing()
	}
	return nil
}

func (a *assigner) batch() map[kafka.TopicIDPartition]kafka.DirID {
	a.mu.Lock()
	defer a.mu.Unlock()
	batch := make(map[kafka.TopicIDPartition]kafka.DirID, min(len(a.queue), maxAssignments))
	for replica, dir := range a.queue {
		if len(batch) == maxAssignments {
			break
		}
		batch[replica] = dir
	}
	return batch
}

func (a *assigner) request(batch map[kafka.TopicIDPartition]kafka.DirID) *kmsg.AssignReplicasToDirsRequest {
	byDir := map[kafka.DirID]map[kafka.TopicID][]int32{}
	for replica, dir := range batch {
		if byDir[dir] == nil {
			byDir[dir] = map[kafka.TopicID][]int32{}
		}
		byDir[dir][replica.Topic] = append(byDir[dir][replica.Topic], int32(replica.Partition))
	}
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	req.BrokerID = int32(a.life.cfg.Node)
	req.BrokerEpoch = int64(a.life.Epoch())
	for dir, topics := range byDir {
		d := kmsg.NewAssignReplicasToDirsRequestDirectory()
		d.ID = dir
		for topic, partitions := range topics {
			t := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
			t.TopicID = topic
			for _, p := range partitions {
				one := kmsg.NewAssignReplicasToDirsRequestDirectoryTopicPartition()
				one.Partition = p
				t.Partitions = append(t.Partitions, one)
			}
			d.Topics = append(d.Topics, t)
		}
		req.Directories = append(req.Directories, d)
	}
	return req
}

// settle drops what is done or concerns nobody any more, unless a newer report
// has replaced it meanwhile, and counts it.
func (a *assigner) settle(sent map[kafka.TopicIDPartition]kafka.DirID, reply *kmsg.AssignReplicasToDirsResponse) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	settled := 0
	for _, d := range reply.Directories {
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				replica := kafka.TopicIDPartition{Topic: t.TopicID, Partition: kafka.PartitionID(p.Partition)}
				if !settles(kerr.Code(p.ErrorCode)) {
					a.life.cfg.Log.Warn("directory assignment refused", "topic", replica.Topic, "partition", replica.Partition, "err", kerr.Code(p.ErrorCode))
					continue
				}
				settled++
				if a.queue[replica] == sent[replica] {
					delete(a.queue, replica)
				}
			}
		}
	}
	return settled
}

func settles(code kerr.Code) bool {
	switch code {
	case kerr.None, kerr.UnknownTopicId, kerr.UnknownTopicOrPartition, kerr.NotLeaderOrFollower:
		return true
	}
	return false
}
