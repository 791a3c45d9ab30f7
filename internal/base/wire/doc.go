// Package wire holds the framing of the Kafka protocol: frames, request and
// response headers, which header goes with which version, and a walk that
// tells how much memory a body takes before it is decoded. The bodies
// themselves are those of franz-go's kmsg. It owns no connection and no policy
// about who may send what.
package wire

//go:generate go run ../../gen/wirewalk -schema ../../../schema/requests.rpc -out table.go
