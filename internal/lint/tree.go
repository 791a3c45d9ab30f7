// Package lint keeps the rules of the house as tests: which room may import
// which (floors), and that rooms which decide stay pure. ARCHITECTURE.md tells
// the same in words; its table of arrows inside a floor is read from here.
package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Module is the import path of the tree's root.
const Module = "github.com/ottla/ottla"

// Room is one package: the non-test files of one folder.
type Room struct {
	Path  string // below the module, for example internal/core/raft
	Files []File
}

// File is one parsed source file.
type File struct {
	Name string // path below the tree's root
	Set  *token.FileSet
	AST  *ast.File
}

// Imports gives the file's imports of this module, as paths below its root,
// and of everything else as they stand.
func (f File) Imports() (ours, others []string) {
	for _, spec := range f.AST.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		switch rest, ok := strings.CutPrefix(p, Module+"/"); {
		case ok:
			ours = append(ours, rest)
		case p == Module:
			ours = append(ours, ".")
		default:
			others = append(others, p)
		}
	}
	return ours, others
}

// Rooms parses every package below root. Folders named testdata and those
// starting with a dot are not part of the house.
func Rooms(root string) ([]Room, error) {
	byDir := map[string]*Room{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "tools") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		dir := path.Dir(rel)
		if byDir[dir] == nil {
			byDir[dir] = &Room{Path: dir}
		}
		byDir[dir].Files = append(byDir[dir].Files, File{Name: rel, Set: set, AST: parsed})
		return nil
	})
	if err != nil {
		return nil, err
	}
	rooms := make([]Room, 0, len(byDir))
	for _, r := range byDir {
		rooms = append(rooms, *r)
	}
	sort.Slice(rooms, func(i, j int) bool { return rooms[i].Path < rooms[j].Path })
	return rooms, nil
}
