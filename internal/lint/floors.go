package lint

import (
	"bufio"
	"fmt"
	"strings"
)

// Floors, from the ground up. A room stands on the floor of the longest prefix
// that fits its path.
var floors = []struct {
	prefix string
	floor  int
}{
	{"internal/base", 0},
	{"internal/core", 1},
	{"internal/abstract", 1}, // the protocol as a relation: pure as the core, and knows nothing of it
	{"internal/edge", 2},
	{"internal/drive", 3},
	{"internal/api", 4},
	{"internal/node", 5},
	{"internal/format", 3},  // what formatting writes, over base and edge
	{"internal/dumplog", 3}, // a reader of files, over base and edge
	{"internal/sim", 6},
	{"internal/explore", 6},
	{"internal/spec", 6},
	{"internal/planted", 6},
	{"internal/itest", 6},
	{"internal/gen", 6},
	{"internal/lint", 6},
	{".", 6},
	{"cmd", 7},
}

// deciding are the rooms of the base that a deciding room may use.
var deciding = []string{
	"internal/base/kafka", "internal/base/kerr", "internal/base/pmap",
	"internal/base/invariant", "internal/base/batch", "internal/base/metarec",
}

// Arrow is an allowed import inside one floor.
type Arrow struct{ From, To string }

// Floor tells on which floor a room stands, or -1 for a room nobody placed.
func Floor(room string) int {
	floor, longest := -1, 0
	for _, f := range floors {
		if (room == f.prefix || strings.HasPrefix(room, f.prefix+"/")) && len(f.prefix) > longest {
			floor, longest = f.floor, len(f.prefix)
		}
	}
	return floor
}

// CheckFloors lists every import that goes upwards, sideways without being in
// the table of arrows, or from a deciding room to a part of the base that is
// closed to it.
func CheckFloors(rooms []Room, arrows []Arrow) []string {
	allowed := map[Arrow]bool{}
	for _, a := range arrows {
		allowed[a] = true
	}
	var faults []string
	for _, room := range rooms {
		from := Floor(room.Path)
		if from < 0 {
			faults = append(faults, fmt.Sprintf("%s stands on no floor", room.Path))
			continue
		}
		for _, file := range room.Files {
			ours, _ := file.Imports()
			for _, to := range ours {
				if why := forbidden(room.Path, to, from, allowed); why != "" {
					faults = append(faults, fmt.Sprintf("%s imports %s: %s", file.Name, to, why))
				}
			}
		}
	}
	return faults
}

func forbidden(room, to string, from int, allowed map[Arrow]bool) string {
	target := Floor(to)
	switch {
	case target < 0:
		return "it stands on no floor"
	case target > from:
		return fmt.Sprintf("upwards, floor %d to %d", from, target)
	case target == from && !allowed[Arrow{room, to}]:
		return fmt.Sprintf("an arrow inside floor %d that ARCHITECTURE.md does not list", from)
	case from == 1 && target == 0 && !contains(deciding, to):
		return "closed to rooms that decide"
	}
	return ""
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// ReadArrows finds the table of arrows in ARCHITECTURE.md: rows of the form
//
//	| `from` | `to` | why |
//
// below the heading "Arrows inside a floor". Paths are below internal/.
func ReadArrows(markdown string) []Arrow {
	var arrows []Arrow
	inside := false
	lines := bufio.NewScanner(strings.NewReader(markdown))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			inside = strings.Contains(line, "Arrows inside a floor")
			continue
		}
		cells := strings.Split(line, "|")
		if !inside || len(cells) < 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		from, to := unquote(cells[1]), unquote(cells[2])
		arrows = append(arrows, Arrow{"internal/" + from, "internal/" + to})
	}
	return arrows
}

func unquote(cell string) string { return strings.Trim(strings.TrimSpace(cell), "`") }
