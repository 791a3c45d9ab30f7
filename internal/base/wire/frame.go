package wire

import "encoding/binary"

// A frame is an int32 size, big-endian, and as many bytes.

// FrameHead is the size of the length before each frame.
const FrameHead = 4

// Looks names what the first four bytes of a connection look like when they
// are no plausible size, for a line in the log. The sizes that Kafka's clients
// send begin with a zero byte: a frame of 16 MiB is rare, one that spells GET
// is none.
func Looks(head [FrameHead]byte) string {
	switch string(head[:]) {
	case "GET ", "POST", "PUT ", "HEAD", "DELE", "OPTI", "PATC", "CONN", "TRAC":
		return "an HTTP request"
	case "PRI ":
		return "an HTTP/2 client"
	case "SSH-":
		return "an SSH client"
	case "AMQP":
		return "an AMQP client"
	}
	switch {
	case head[0] == 0x16 && head[1] == 0x03:
		return "a TLS handshake on a plaintext port"
	case head[0] == 0x10 && head[2] == 0x00:
		return "an MQTT client"
	case int32(binary.BigEndian.Uint32(head[:])) < 0:
		return "a negative size"
	}
	return "an oversized request or another protocol"
}

// Size reads the length of a frame.
func Size(head [FrameHead]byte) int { return int(int32(binary.BigEndian.Uint32(head[:]))) }
