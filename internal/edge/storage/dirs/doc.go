// Package dirs keeps the log directories of a node: whose they are
// (meta.properties, .lock), the logs in them, the checkpoints beside the logs,
// the marker of a clean shutdown, the periodic work on all logs, and what
// happens when a disk fails. Which partitions exist, and who leads them, is
// decided elsewhere.
//
// A node claims its directories first, see Claim; a broker then loads the logs
// in them, see Load.
package dirs
