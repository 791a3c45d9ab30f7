// Package replica decides for one replica of a partition: whether it leads or
// follows and in which epoch, how far the in-sync replicas have copied the log
// (the high watermark), which ISR to ask the controller for, what a producer
// may be told, and where a follower that has diverged must cut its log.
//
// It works on offsets and epochs alone. Bytes, files, parked requests and
// messages are the business of the driver, which calls Step with one event at
// a time, under the lock of the partition, and does what the Effects say.
package replica
