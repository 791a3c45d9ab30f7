package format

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Info is what the directories of a node look like.
type Info struct {
	Directories []string
	Metadata    *metaprops.Properties // of the first formatted directory
	Problems    []string
}

// Describe looks at all directories of a node and collects what is wrong with
// them.
func Describe(disk vfs.FS, n *config.Node) Info {
	var info Info
	var from string
	for _, f := range Survey(disk, Dirs(n)) {
		there, _ := vfs.Exists(disk, f.Dir)
		file := filepath.Join(f.Dir, metaprops.FileName)
		problem := func(format string, args ...any) {
			info.Problems = append(info.Problems, fmt.Sprintf(format, args...))
		}
		switch {
		case !there:
			problem("%s does not exist", f.Dir)
			continue
		case f.Err != nil && f.Meta == nil:
			problem("%s: %v", f.Dir, f.Err)
			continue
		}
		info.Directories = append(info.Directories, f.Dir)
		switch {
		case f.SameAs != "":
			problem("%s and %s are the same directory", f.SameAs, f.Dir)
		case f.Meta == nil:
			problem("%s is not formatted: there is no %s", f.Dir, file)
		case info.Metadata == nil:
			info.Metadata, from = f.Meta, file
			if f.Meta.NodeID != n.ID {
				problem("%s has node.id %d, the configuration %d", file, f.Meta.NodeID, n.ID)
			}
		case f.Meta.ClusterID != info.Metadata.ClusterID:
			problem("Mismatched cluster IDs between storage directories: %q in %s, %q in %s", info.Metadata.ClusterID, from, f.Meta.ClusterID, file)
		case f.Meta.NodeID != info.Metadata.NodeID:
			problem("Mismatched node IDs between storage directories: %d in %s, %d in %s", info.Metadata.NodeID, from, f.Meta.NodeID, file)
		case f.Meta.DirID == info.Metadata.DirID && !f.Meta.DirID.IsZero():
			problem("%s and %s have the same directory.id %s: one is a copy of the other", from, file, f.Meta.DirID)
		}
	}
	return info
}

// Print writes the report in kafka-storage's form.
func (i Info) Print(w io.Writer) error {
	text := section("Found log director", "y", "ies", i.Directories)
	if m := i.Metadata; m != nil {
		text += fmt.Sprintf("Found metadata: {cluster.id=%s, directory.id=%s, node.id=%d, version=%d}\n\n", m.ClusterID, m.DirID, m.NodeID, m.Version)
	}
	text += section("Found problem", "", "s", i.Problems)
	_, err := io.WriteString(w, text)
	return err
}

// section is a heading, in singular or plural, with one line an item; nothing
// when there is no item.
func section(heading, one, many string, items []string) string {
	switch len(items) {
	case 0:
		return ""
	case 1:
		heading += one
	default:
		heading += many
	}
	text := heading + ":\n"
	for _, item := range items {
		text += "  " + item + "\n"
	}
	return text + "\n"
}
