// Package coordnode runs the group coordinator: one group.Shard for each
// partition of __consumer_offsets that this broker leads.
//
// A led partition has a mailbox and no goroutine of its own. Whoever posts an
// event to an idle one starts a goroutine that works until the mailbox is
// empty, so 50 idle partitions cost some hundred bytes each and nothing else.
// Records of all events that were taken since the last append go out as one
// batch; while that waits for the high watermark, the next batch collects.
//
// On leadership the partition is read from its start and then served; until
// then requests have COORDINATOR_LOAD_IN_PROGRESS. When leadership goes, what
// waits is told NOT_COORDINATOR and the shard is dropped.
//
// What is decided is core/group's; where bytes are stored is the Log's.
package coordnode
