package config

import (
	"bytes"
	"fmt"

	"github.com/magiconair/properties"
)

// property is one setting of a properties file.
type property struct {
	key, value string
	line       int // of its first character, counted from 1
}

// parseProperties reads Java's properties format: comments, the separators
// "=", ":" and blank, escapes, and lines that go on behind a backslash. Bytes
// above 127 are ISO 8859-1 as in Java's own reader. "${" has no meaning here:
// Kafka gives it one only through config.providers.
func parseProperties(data []byte) ([]property, error) {
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	var all []property
	for rest, line := data, 1; len(rest) > 0; {
		text, lines, tail := logicalLine(rest)
		if !blankOrComment(text) {
			if goesOn(text) {
				text = text[:len(text)-1] // the file ends where the line was to go on
			}
			p, err := loader.LoadBytes(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %v", line, err)
			}
			for _, key := range p.Keys() {
				value, _ := p.Get(key)
				all = append(all, property{key, value, line})
			}
		}
		rest, line = tail, line+lines
	}
	return all, nil
}

// logicalLine cuts the first setting off: one line, and those after it that it
// goes on in. It counts the lines that were cut.
func logicalLine(data []byte) (text []byte, lines int, rest []byte) {
	comment := blankOrComment(firstLine(data))
	for at := 0; ; {
		line := firstLine(data[at:])
		at += len(line)
		lines++
		next := at + lineEnd(data[at:])
		if at == len(data) || comment || !goesOn(line) {
			return data[:at], lines, data[next:]
		}
		at = next
	}
}

// firstLine is the text before the first line end.
func firstLine(data []byte) []byte {
	if end := bytes.IndexAny(data, "\r\n"); end >= 0 {
		return data[:end]
	}
	return data
}

// lineEnd is the length of the line end that data starts with: 2 for CR LF.
func lineEnd(data []byte) int {
	switch {
	case len(data) == 0:
		return 0
	case bytes.HasPrefix(data, []byte("\r\n")):
		return 2
	}
	return 1
}

// goesOn tells whether a line ends in an odd number of backslashes.
func goesOn(line []byte) bool {
	return (len(line)-len(bytes.TrimRight(line, `\`)))%2 == 1
}

func blankOrComment(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\f\r\n")
	return len(line) == 0 || line[0] == '#' || line[0] == '!'
}
