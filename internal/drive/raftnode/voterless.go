package raftnode

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// voterlessAfter is how long a controller may know no voters before it says so:
// one that joins a running quorum hears of them within a fetch.
const voterlessAfter = 5 * time.Second

// tellIfVoterless says why a controller goes on without ever leading or
// following: nobody told it who votes. That happens when static voters are taken
// out of the settings before kraft.version is 1 (KAFKA-16538).
func (n *Node) tellIfVoterless() {
	timer := time.NewTimer(voterlessAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.life.Done():
		return
	}
	if v := n.View(); n.cfg.Controller && !n.cfg.muted && len(v.Voters) == 0 && v.Leader == kafka.NoNode {
		n.cfg.Log.Error("no voters are known: the metadata log has none and controller.quorum.voters is not set;"+
			" the controller waits for a leader at controller.quorum.bootstrap.servers", "dir", n.cfg.Dir)
	}
}
