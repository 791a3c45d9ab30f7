// Package itest starts real processes for tests: our own binary, Apache Kafka's
// tools and servers, kcat. It owns ports, folders, logs and their clean-up; what
// is tested stands in the packages below it.
//
// The binary is taken from OTTLA_BIN, or built once per test run. Kafka's jars
// are taken from KAFKA_LIB, or from the cache that scripts/deps.sh fills.
package itest
