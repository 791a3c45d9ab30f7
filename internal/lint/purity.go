package lint

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"os/exec"
	"strings"
	"sync"
)

// impure are packages that a deciding room has no use for.
var impure = map[string]string{
	"os": "files", "net": "sockets", "log": "a logger", "log/slog": "a logger", "sync": "locks",
	"sync/atomic": "shared memory", "context": "waiting", "io/fs": "files", "os/exec": "processes",
	"crypto/rand": "randomness nobody can repeat", "math/rand": "global randomness", "hash/maphash": "randomness nobody can repeat",
	"runtime": "sight of the machine", "syscall": "sight of the machine", "unsafe": "sight of the machine",
	"github.com/twmb/franz-go/pkg/kmsg": "wire bodies",
}

// pure are packages below impure ones that only compute: addresses as values.
var pure = map[string]bool{"net/netip": true}

// CheckPurity lists what a deciding room (floor 1) must not do: use the outside
// world, start goroutines, use channels, look at a clock or draw chance.
func CheckPurity(rooms []Room) []string {
	var faults []string
	for _, room := range rooms {
		if Floor(room.Path) != 1 {
			continue
		}
		for _, file := range room.Files {
			faults = append(faults, impureImports(file)...)
			faults = append(faults, impureActs(file)...)
			faults = append(faults, worldlyNames(file)...)
		}
	}
	return faults
}

func impureImports(file File) []string {
	var faults []string
	_, others := file.Imports()
	for _, p := range others {
		if why, bad := impurePath(p); bad {
			faults = append(faults, fmt.Sprintf("%s imports %s: a room that decides has no %s", file.Name, p, why))
		}
	}
	return faults
}

// impurePath judges an import by its path, and by the package below which it
// stands: runtime/debug is as bad as runtime.
func impurePath(p string) (why string, bad bool) {
	if pure[p] {
		return "", false
	}
	if why, bad = impure[p]; bad {
		return why, true
	}
	first, _, _ := strings.Cut(p, "/")
	why, bad = impure[first]
	return why, bad
}

func impureActs(file File) []string {
	var faults []string
	say := func(n ast.Node, what string) {
		faults = append(faults, fmt.Sprintf("%s: %s", at(file, n.Pos()), what))
	}
	ast.Inspect(file.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n, "starts a goroutine")
		case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			say(n, "uses a channel")
		}
		return true
	})
	return faults
}

// anyOrder marks a range over a map whose order cannot show.
const anyOrder = "any order"

// CheckMapOrder lists, in deciding rooms, every range over a built-in map that
// is not marked with a comment saying that any order will do.
func CheckMapOrder(rooms []Room) []string {
	imports, err := fromSource()
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	for _, room := range rooms {
		if Floor(room.Path) != 1 || len(room.Files) == 0 {
			continue
		}
		faults = append(faults, mapRanges(room, imports)...)
	}
	return faults
}

// fromSource type-checks imported packages from their source, each once.
var fromSource = sync.OnceValues(func() (types.Importer, error) {
	if err := findGoroot(); err != nil {
		return nil, err
	}
	return importer.ForCompiler(token.NewFileSet(), "source", nil), nil
})

func mapRanges(room Room, imports types.Importer) []string {
	set := room.Files[0].Set
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: imports, Error: func(error) {}}
	asts := make([]*ast.File, len(room.Files))
	for i, f := range room.Files {
		asts[i] = f.AST
	}
	if _, err := conf.Check(Module+"/"+room.Path, set, asts, info); err != nil {
		return []string{fmt.Sprintf("%s does not type-check: %v", room.Path, err)}
	}
	var faults []string
	for _, file := range room.Files {
		marked := markedLines(file)
		ast.Inspect(file.AST, func(n ast.Node) bool {
			loop, ok := n.(*ast.RangeStmt)
			if !ok || info.Types[loop.X].Type == nil {
				return true
			}
			if _, isMap := info.Types[loop.X].Type.Underlying().(*types.Map); !isMap {
				return true
			}
			if line := set.Position(loop.Pos()).Line; !marked[line] && !marked[line-1] {
				faults = append(faults, fmt.Sprintf("%s: ranges over a map; sort the keys, or say why any order will do", at(file, loop.Pos())))
			}
			return true
		})
	}
	return faults
}

// findGoroot tells the importer from source where the standard library is. A
// binary built with -trimpath does not know.
func findGoroot() error {
	if build.Default.GOROOT != "" {
		return nil
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	build.Default.GOROOT = strings.TrimSpace(string(out))
	return nil
}

func markedLines(file File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.AST.Comments {
		for _, c := range group.List {
			if strings.Contains(c.Text, anyOrder) {
				lines[file.Set.Position(c.Pos()).Line] = true
			}
		}
	}
	return lines
}

func at(file File, pos token.Pos) string {
	return fmt.Sprintf("%s:%d", file.Name, file.Set.Position(pos).Line)
}
