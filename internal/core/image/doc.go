// Package image holds the metadata of a cluster as a value. Every node applies
// the same committed records with the same Apply, so the active controller, a
// standby, a broker and a tool agree on what the cluster is.
//
// An Image never changes. Apply returns the next one, which shares with its
// predecessor all that stayed, and a Delta that names what did not. Images may
// be read by any number of goroutines.
//
// The package decides nothing: which records to write is the business of
// package controller, when to publish an image that of the driver. What is
// derived by a rule at replay (KIP-858: one directory that becomes several)
// lives here, because all nodes must derive the same.
package image
