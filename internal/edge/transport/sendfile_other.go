//go:build !linux

package transport

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// rawConn returns nil: without sendfile file ranges are copied.
func rawConn(net.Conn) syscall.RawConn { return nil }

func (w *writer) sendFile(*os.File, int64, int64) error { return errors.ErrUnsupported }

func (w *writer) sendMore() error { return errors.ErrUnsupported }
