// Package quota is the arithmetic of replication quotas (KIP-73): how fast bytes
// came lately (Window), and which replicas a topic lists as throttled (Replicas).
// It is values and the time as an argument; who asks, who counts and who is held
// back by it is known to drive/brokernode.
package quota
