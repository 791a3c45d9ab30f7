package transport

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSendfile bounds one system call, so that a deadline is looked at in between.
const maxSendfile = 4 << 20

// rawConn returns the handle for sendfile, or nil where it does not work.
func rawConn(nc net.Conn) syscall.RawConn {
	if t, ok := nc.(*net.TCPConn); ok {
		if raw, err := t.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// sendFile sends n bytes at off. It gives the kernel an offset of its own: the
// file is shared by many connections, and its own offset must not move.
func (w *writer) sendFile(f *os.File, off, n int64) error {
	in := int(f.Fd())
	for n > 0 {
		var sent int
		var fault error
		err := w.raw.Write(func(out uintptr) bool {
			w.reads <- struct{}{}
			sent, fault = unix.Sendfile(int(out), in, &off, int(min(n, maxSendfile)))
			<-w.reads
			return fault != unix.EAGAIN && fault != unix.EINTR
		})
		switch {
		case err != nil:
			return err
		case fault != nil:
			return os.NewSyscallError("sendfile", fault)
		case sent == 0:
			return fmt.Errorf("%s at %d: %w", f.Name(), off, errShortRange)
		}
		n -= int64(sent)
	}
	return nil
}

// sendMore sends what gathered and tells the kernel to wait for the file that
// follows.
func (w *writer) sendMore() error {
	for _, b := range w.bufs {
		for len(b) > 0 {
			var sent int
			var fault error
			err := w.raw.Write(func(out uintptr) bool {
				sent, fault = unix.SendmsgN(int(out), b, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
				return fault != unix.EAGAIN && fault != unix.EINTR
			})
			switch {
			case err != nil:
				return err
			case fault != nil:
				return os.NewSyscallError("sendmsg", fault)
			}
			b = b[sent:]
		}
	}
	return nil
}
