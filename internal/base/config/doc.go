// Package config is the one table of Apache Kafka 4.4's settings and what is
// made of it: typed values with defaults, the checks Kafka makes, the reader of
// properties files, and the settings a topic's log lives by. It owns names,
// types, bounds and documentation; it leaves acting on a value to whoever asks
// for it.
package config
