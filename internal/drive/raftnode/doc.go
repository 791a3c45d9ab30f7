// Package raftnode runs a member of the metadata quorum: it feeds core/raft
// with requests, answers, deadlines and the reports of the disk, and carries
// out what comes back. It owns the files of the directory __cluster_metadata-0
// and the translation between the wire and the core; it knows no rule of the
// quorum.
//
// Goroutines: the loop owns the core. The writer owns changes of the log and
// never holds up the loop. Each listener has one that reads what is committed.
// All are stopped, and waited for, by Stop.
package raftnode
