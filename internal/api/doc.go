// Package api speaks Kafka: one file for each API, and one visible table of
// the routes. A handler translates between kmsg and the part of the node that
// does the work, and asks only for that part. Which versions are served, and on
// which listeners, stands in the table; ApiVersions answers from the very same
// one, so that it cannot tell anything but the truth.
package api
