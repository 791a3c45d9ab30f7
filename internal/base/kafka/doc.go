// Package kafka holds the words everything else is written in: scalar types
// that keep an offset from being taken for an epoch, the ids Kafka reserves,
// and its well-known names. It owns no behaviour beyond printing and parsing.
package kafka
