// Package metaprops reads and writes the text of meta.properties, the file that
// tells which cluster, node and directory a folder of data belongs to. It knows
// the format; when the file is looked for, and what a mismatch means, is left
// to those who open and format directories.
//
//	#
//	#Sun Nov 29 20:35:12 UTC 2026
//	node.id=11
//	directory.id=KnYXlkAFTAy4bVsCRvcVVA
//	version=1
//	cluster.id=AAAAAAAAAAAAAAAAAAAAAg
package metaprops

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/magiconair/properties"

	"github.com/ottla/ottla/internal/base/kafka"
)

// FileName is the file's name in the root of every log directory and of the
// metadata log's directory.
const FileName = "meta.properties"

// MaxSize bounds how much of a file is read: it has four short lines.
const MaxSize = 64 << 10

// Properties are what the file says. Version 0, of clusters that come from
// ZooKeeper, names the node in broker.id and may lack fields.
type Properties struct {
	Version   int
	ClusterID string       // "" is absent
	NodeID    kafka.NodeID // kafka.NoNode is absent
	DirID     kafka.DirID  // zero is absent; older releases did not write it
}

// Parse reads a file. An unknown version, a number or id that cannot be read,
// and a file of version 1 without cluster or node are errors.
func Parse(data []byte) (Properties, error) {
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	raw, err := loader.LoadBytes(data)
	if err != nil {
		return Properties{}, fmt.Errorf("%s: %w", FileName, err)
	}
	p := Properties{NodeID: kafka.NoNode, ClusterID: raw.GetString("cluster.id", "")}
	if p.Version, err = number(raw, "version", 0, 16); err != nil {
		return Properties{}, err
	}
	nodeKey := "node.id"
	switch p.Version {
	case 0:
		nodeKey = "broker.id"
	case 1:
	default:
		return Properties{}, fmt.Errorf("%s has version %d; known are 0 and 1", FileName, p.Version)
	}
	id, err := number(raw, nodeKey, int(kafka.NoNode), 32)
	if err != nil {
		return Properties{}, err
	}
	p.NodeID = kafka.NodeID(id)
	if text, ok := raw.Get("directory.id"); ok {
		if p.DirID, err = kafka.ParseUUID(strings.TrimSpace(text)); err != nil {
			return Properties{}, fmt.Errorf("%s: directory.id: %w", FileName, err)
		}
	}
	if _, named := raw.Get("cluster.id"); p.Version == 1 && (!named || p.NodeID < 0) {
		return Properties{}, fmt.Errorf("%s needs both cluster.id and node.id", FileName)
	}
	return p, nil
}

func number(raw *properties.Properties, key string, unset, bits int) (int, error) {
	text, ok := raw.Get(key)
	if !ok {
		return unset, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is not a number: %q", FileName, key, text)
	}
	return int(n), nil
}

// Text is the whole file, as Java's Properties write it; now becomes its second
// line.
func (p Properties) Text(now time.Time) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#\n#%s\n", now.Format("Mon Jan 02 15:04:05 MST 2006"))
	nodeKey := "node.id"
	if p.Version == 0 {
		nodeKey = "broker.id"
	}
	if p.NodeID >= 0 {
		fmt.Fprintf(&b, "%s=%d\n", nodeKey, p.NodeID)
	}
	if !p.DirID.IsZero() {
		fmt.Fprintf(&b, "directory.id=%s\n", p.DirID)
	}
	fmt.Fprintf(&b, "version=%d\n", p.Version)
	if p.ClusterID != "" {
		fmt.Fprintf(&b, "cluster.id=%s\n", escape(p.ClusterID))
	}
	return []byte(b.String())
}

// escape writes a value so that a Java reader gets it back: blanks in front,
// separators, comment signs and what Latin-1 does not have are escaped.
func escape(value string) string {
	var b strings.Builder
	for i, r := range value {
		switch {
		case r == ' ' && i == 0, strings.ContainsRune(`\=:#!`, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < ' ' || r > '~' && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04X\u%04X`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
