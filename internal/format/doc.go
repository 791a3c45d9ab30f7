// Package format makes a node's directories: it decides which files a
// "storage format" writes, and writes them whole or not at all. The rules and
// the bytes are those of Apache Kafka 4.4's kafka-storage.
//
// Deciding (Decide) is a function over values: the request, what the
// directories hold, the time and a source of random ids. Survey reads and Write
// writes. What the files mean to a running node is left to others.
package format
