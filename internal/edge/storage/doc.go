// Package storage keeps the log of one partition on disk, in Kafka's files. It
// owns segments, their indexes, the epoch history, the producer state, recovery
// after a crash, retention, truncation and compaction. It leaves to others who
// may append what, when a record counts as committed, and which directory a
// partition lives in (see dirs).
//
// A partition's folder holds, per segment and named by its first offset:
//
//	%020d.log        record batches, back to back
//	%020d.index      8 bytes an entry: relative offset, position of its batch
//	%020d.timeindex  12 bytes an entry: timestamp, relative offset
//	%020d.txnindex   34 bytes an entry: an aborted transaction; may be absent
//	%020d.snapshot   producer state before that offset
//
// and leader-epoch-checkpoint, partition.metadata. A name that ends in
// .deleted waits for its removal, .cleaned is output of the cleaner that is not
// complete, .swap is complete output that has not yet replaced its originals.
//
// Locks of a Log, always taken in this order:
//
//	sealed   truncation, deletion, and the cleaner's swap: what changes segments
//	         that are no longer appended to
//	writer   appends, and all else that changes the log, one at a time; a lookup
//	         or a sync of the cleaner's does not keep an append waiting
//	syncing  one sync, or one truncation
//	shape    readers hold it while they look positions up; what removes bytes
//	         from files or files from the list takes it alone
//	mu       the state in memory; never held over a call to the disk
package storage
