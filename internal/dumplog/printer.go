package dumplog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// item is one thing found in a file: a line of text, or a JSON object made of
// its exported fields.
type item interface {
	kind() string
	// text appends the line without its end.
	text(dst []byte) []byte
}

// printer writes items. The first error of writing stays in err.
type printer struct {
	w    *bufio.Writer
	json bool
	path string
	line []byte
	err  error
}

func newPrinter(w io.Writer, path string, asJSON bool) *printer {
	return &printer{w: bufio.NewWriter(w), json: asJSON, path: path}
}

func (p *printer) flush() error {
	if err := p.w.Flush(); p.err == nil {
		p.err = err
	}
	return p.err
}

func (p *printer) writeLine() {
	p.line = append(p.line, '\n')
	if _, err := p.w.Write(p.line); p.err == nil {
		p.err = err
	}
}

// heading writes a line that only text has.
func (p *printer) heading(text string) {
	if !p.json {
		p.line = append(p.line[:0], text...)
		p.writeLine()
	}
}

func (p *printer) put(it item) {
	if !p.json {
		p.line = it.text(p.line[:0])
		p.writeLine()
		return
	}
	fields, err := encode(it)
	if err != nil {
		p.err = err
		return
	}
	p.line = append(p.line[:0], `{"file":`...)
	p.line = append(p.line, quoteJSON(p.path)...)
	p.line = append(p.line, `,"kind":"`+it.kind()+`"`...)
	if rest := fields[1:]; len(rest) > 1 {
		p.line = append(append(p.line, ','), rest...)
	} else {
		p.line = append(p.line, '}')
	}
	p.writeLine()
}

// encode is json.Marshal without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// quoteJSON quotes a string, which always encodes.
func quoteJSON(s string) []byte {
	b, _ := encode(s)
	return b
}

// appendPair appends "name: value", led by a space unless it is the first.
func appendPair(dst []byte, name string, value int64) []byte {
	if len(dst) > 0 {
		dst = append(dst, ' ')
	}
	dst = append(append(dst, name...), ": "...)
	return strconv.AppendInt(dst, value, 10)
}

// appendPrintable appends bytes of a user as they are if they can be shown on
// a line, and quoted if not.
func appendPrintable(dst, b []byte) []byte {
	if utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }) < 0 {
		return append(dst, b...)
	}
	return strconv.AppendQuote(dst, string(b))
}

// optional is a number as Java prints one that may be absent.
func optional(n int64, set bool) string {
	if set {
		return "OptionalLong[" + strconv.FormatInt(n, 10) + "]"
	}
	return "OptionalLong.empty"
}

// zeroTail tells of zeros behind the last entry or batch of a file that was
// allocated in advance and not cut to its length.
type zeroTail struct {
	Position int64 `json:"position"`
	Size     int64 `json:"size"` // bytes
}

func (zeroTail) kind() string { return "zeroTail" }

func (z zeroTail) text(dst []byte) []byte {
	return append(dst, "position: "+strconv.FormatInt(z.Position, 10)+" preallocated, not written: "+strconv.FormatInt(z.Size, 10)+" bytes"...)
}

// zeros checks that nothing but zeros follows position to the file's end, and
// prints how many there are.
func (d *dumper) zeros(position int64) error {
	buf := make([]byte, 32<<10)
	r := io.NewSectionReader(d.file, position, d.size-position)
	for at := position; ; {
		n, err := r.Read(buf)
		for i, b := range buf[:n] {
			if b != 0 {
				d.problem(at+int64(i), "something follows %d zero bytes", at+int64(i)-position)
				return nil
			}
		}
		at += int64(n)
		if err == io.EOF {
			d.put(zeroTail{position, at - position})
			return nil
		}
		if err != nil {
			return err
		}
	}
}
