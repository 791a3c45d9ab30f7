package lint

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
)

// harmless is all that a deciding room may take from packages that also look at
// clocks, wait, or draw from a source that the process shares. A name that is
// not here is a fault, so what a release of Go adds is one until somebody looked.
var harmless = map[string][]string{
	"time": {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"math/rand/v2": { // types, and constructors that are given a source or its seed
		"Rand", "Source", "PCG", "ChaCha8", "Zipf", "New", "NewPCG", "NewChaCha8", "NewZipf",
	},
}

// worldlyNames lists what a file takes from the packages above besides. They are
// found by import path, whatever the file calls them.
func worldlyNames(file File) []string {
	names, faults := watchedImports(file)
	ast.Inspect(file.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok || pkg.Obj != nil { // an object of the file: a variable that has the name of a package
			return true
		}
		if from := names[pkg.Name]; from != "" && !slices.Contains(harmless[from], sel.Sel.Name) {
			faults = append(faults, fmt.Sprintf("%s: takes %s of %s, where a room that decides may have only %v",
				at(file, sel.Pos()), sel.Sel.Name, from, harmless[from]))
		}
		return true
	})
	return faults
}

// watchedImports gives the names under which a file has packages with a list.
func watchedImports(file File) (paths map[string]string, faults []string) {
	paths = map[string]string{}
	for _, spec := range file.AST.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || harmless[p] == nil {
			continue
		}
		name := packageName(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			faults = append(faults, fmt.Sprintf("%s: imports all names of %s", at(file, spec.Pos()), p))
			continue
		}
		paths[name] = p
	}
	return paths, faults
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// packageName is what a file of the standard library calls itself.
func packageName(importPath string) string {
	if majorVersion.MatchString(path.Base(importPath)) {
		importPath = path.Dir(importPath)
	}
	return path.Base(importPath)
}

// CheckPackageComments lists the rooms in which no file says what the room owns.
func CheckPackageComments(rooms []Room) []string {
	var faults []string
	for _, room := range rooms {
		if !slices.ContainsFunc(room.Files, func(f File) bool { return f.AST.Doc != nil }) {
			faults = append(faults, fmt.Sprintf("%s has no package comment", room.Path))
		}
	}
	return faults
}
