package transport

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// errHandshake is a TLS handshake that failed.
var errHandshake = errors.New("TLS handshake")

// errConnect is the beginning of a connection that failed.
var errConnect = errors.New("connect")

// errUnwritten is the end of a connection before the request was written to it.
var errUnwritten = errors.New("not sent")

// What a Client answers with besides errors of the network.
var (
	// ErrClosed: the client or pool was closed.
	ErrClosed = errors.New("client is closed")
	// ErrBusy: as many requests as may (MaxQueued) wait for the connection already.
	ErrBusy = errors.New("too many requests wait for the connection")
	// ErrVersions: the other side serves no version of the request that we know,
	// or none that is new enough for it.
	ErrVersions = errors.New("no common version")
)

// isNetwork tells faults of the network, and time-outs, from what a peer sent.
func isNetwork(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// Unsent tells whether err says that the request has certainly not been sent,
// because there was no connection, or none any more when its turn came.
func Unsent(err error) bool { return errors.Is(err, errConnect) || errors.Is(err, errUnwritten) }

// Refused tells whether err says that nobody listens at the other side: the
// process is down, and known to be at once.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// Reset tells whether err says that the other side ended a connection that had
// been there: the process stopped or closed it.
func Reset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}
