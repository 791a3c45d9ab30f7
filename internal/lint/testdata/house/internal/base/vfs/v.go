package vfs

// FS is a disk.
type FS any
