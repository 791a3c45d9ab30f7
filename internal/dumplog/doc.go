// Package dumplog prints what lies in the files of a node: segments, indexes,
// snapshots and checkpoints, as text in the words of Kafka's kafka-dump-log or
// as one JSON object a line.
//
// It is a tool for looking at files, also damaged ones. So it shares the
// formats of records and batches with the rest of the house (batch, metarec)
// but reads files by itself and trusts nothing in them: what is wrong is
// reported with file and position, and reading goes on where that makes sense.
package dumplog
