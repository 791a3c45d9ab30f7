package storage

// Log is a log.
type Log struct{}
