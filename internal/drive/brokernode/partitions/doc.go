// Package partitions drives the replicas that this broker holds: it joins the
// rules of core/replica with the logs of edge/storage.
//
// A Partition is a struct with one mutex and no goroutine, so that 20,000 of
// them cost memory and not scheduling. Its mutex is held for the append and the
// decision about it, never over a sync or the network; what waits on the
// partition is woken after the mutex was given up. The Manager follows committed
// metadata: it makes logs, hands out roles and deletes what is gone.
//
// Lock order: Manager.mu before Partition.mu before the locks inside a log. No
// lock is held while a waiter, a listener or the directories are called.
package partitions
