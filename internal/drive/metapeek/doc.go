// Package metapeek looks into a metadata folder that nobody has opened yet, to
// tell whether this release can serve the cluster it belongs to. It owns no file
// and changes none. Opening the folder for good, and saying what is wrong with
// it, belongs to raftnode.
package metapeek
