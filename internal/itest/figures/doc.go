// Package figures measures the real binary as processes of its own, beside
// Apache Kafka where its jars are there. A figure is a benchmark; nothing here
// runs unless it is named with -bench, and docs/figures.md has what it printed.
package figures
