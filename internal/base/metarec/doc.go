// Package metarec holds the records that a cluster keeps about itself, as Go
// structs with codecs for every version: metadata, quorum control records,
// coordinator records, and the small files beside a partition's segments.
//
// The structs and their codecs are generated from schema/*.rec. This package
// owns bytes and nothing else: what a record means is decided by those who
// apply it. It has no state, does nothing at start, and keeps no reference to
// the bytes it reads.
package metarec

//go:generate go run ../../gen
