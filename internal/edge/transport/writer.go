package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	copyBelow = 32 << 10 // file ranges below this are copied: one packet is cheaper than one more system call
	copyChunk = 64 << 10
)

var (
	errShortRange = errors.New("file ends inside the range of a reply")
	errAsked      = errors.New("handler asked to close the connection")
)

// writer sends the replies of one connection, in order.
type writer struct {
	nc       net.Conn
	raw      syscall.RawConn // nil where sendfile does not work: TLS, pipes
	q        *queue
	idle     idle
	observer Observer
	reads    chan struct{} // bounds the threads that wait for a disk

	bufs   net.Buffers // what goes out with the next flush
	copies []*buffer   // file ranges in bufs that were copied
}

// run sends until nothing more can be sent.
func (w *writer) run() {
	var batch []*call
	for {
		calls, ok := w.q.take(batch[:0])
		if !ok {
			return
		}
		batch = calls
		err := w.send(calls)
		w.done(calls)
		if err != nil {
			return // the reader, or the peer, knows why
		}
	}
}

func (w *writer) send(calls []*call) error {
	w.idle.renew(w.nc.SetWriteDeadline)
	for _, k := range calls {
		switch k.kind {
		case replyClose:
			if err := w.flush(false); err != nil {
				return err
			}
			return errAsked
		case replyMessage:
			w.bufs = append(w.bufs, k.out.b)
		case replyParts:
			w.bufs = append(w.bufs, k.out.b)
			if err := w.sendParts(k.parts); err != nil {
				return err
			}
		}
	}
	return w.flush(false)
}

// done gives back what the calls held and makes room for new ones.
func (w *writer) done(calls []*call) {
	var total int64
	for i, k := range calls {
		total += k.size
		if w.observer != nil {
			w.observer.Reply(&k.req, k.size, time.Since(k.began))
		}
		k.free()
		calls[i] = nil
	}
	w.q.sent(total)
}

func (w *writer) sendParts(parts []Part) error {
	for i := range parts {
		p := &parts[i]
		var err error
		switch {
		case p.File == nil:
			if len(p.Bytes) > 0 {
				w.bufs = append(w.bufs, p.Bytes)
			}
		case p.Len < copyBelow:
			err = w.copyRange(p)
		case w.raw == nil:
			err = w.copyChunks(p)
		default:
			if err = w.flush(true); err == nil {
				err = w.sendFile(p.File, p.Off, p.Len)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyRange reads a small range beside what is sent already.
func (w *writer) copyRange(p *Part) error {
	if p.Len <= 0 {
		return nil
	}
	buf := getBuffer(int(p.Len))
	buf.b = buf.b[:p.Len]
	if err := readRange(p.File, buf.b, p.Off); err != nil {
		buf.put()
		return err
	}
	w.bufs = append(w.bufs, buf.b)
	w.copies = append(w.copies, buf)
	return nil
}

// copyChunks sends a large range where sendfile cannot.
func (w *writer) copyChunks(p *Part) error {
	if err := w.flush(false); err != nil {
		return err
	}
	buf := getBuffer(copyChunk)
	defer buf.put()
	for off, end := p.Off, p.Off+p.Len; off < end; {
		chunk := buf.b[:min(copyChunk, end-off)]
		if err := readRange(p.File, chunk, off); err != nil {
			return err
		}
		if _, err := w.nc.Write(chunk); err != nil {
			return err
		}
		off += int64(len(chunk))
	}
	return nil
}

func readRange(f *os.File, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return fmt.Errorf("%s at %d: %w", f.Name(), off, errShortRange)
	}
	return err
}

// flush sends what has gathered. more says that a file range follows at once,
// so that the head of a reply need not be a packet of its own.
func (w *writer) flush(more bool) error {
	if len(w.bufs) == 0 {
		return nil
	}
	var err error
	switch {
	case more:
		err = w.sendMore()
	case len(w.bufs) == 1:
		_, err = w.nc.Write(w.bufs[0])
	default:
		rest := w.bufs // WriteTo eats the slice it is called on
		_, err = rest.WriteTo(w.nc)
	}
	clear(w.bufs)
	w.bufs = w.bufs[:0]
	for i, buf := range w.copies {
		buf.put()
		w.copies[i] = nil
	}
	w.copies = w.copies[:0]
	return err
}
