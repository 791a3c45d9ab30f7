// Package group decides for the groups and committed offsets of one partition
// of __consumer_offsets: the classic group protocol (JoinGroup, SyncGroup,
// Heartbeat, LeaveGroup), commits and fetches of offsets, their expiration, and
// the describing, listing and deleting of groups.
//
// A Shard is the state of one partition. Step takes one event and returns the
// records to append, the requests that are answered and the next deadline. The
// shard never blocks, fails or looks at a clock, and all its chance comes from
// a source it is given.
//
// What is durable follows one rule: a change that somebody is told about was
// committed first. Offsets become visible when their record is committed.
// Membership before the leader's assignment is soft, as in Apache Kafka; the
// assignment, an emptied group and a replaced static member are records.
// Committed and Failed events come back for every unit of records, in order.
//
// Left to others: the log, time, connections (drive/coordnode), the shapes of
// requests on the wire, whether a topic exists, and access rules (api).
package group
