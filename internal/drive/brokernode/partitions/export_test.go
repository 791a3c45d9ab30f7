package partitions

import "github.com/ottla/ottla/internal/base/kafka"

// Durable is how far the disk is known to hold the log.
func (p *Partition) Durable() (kafka.Offset, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sync.synced, p.online()
}
