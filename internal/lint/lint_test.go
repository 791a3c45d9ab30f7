package lint

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func house(t *testing.T) []Room {
	t.Helper()
	rooms, err := Rooms(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(rooms) < 10 {
		t.Fatalf("found only %d rooms", len(rooms))
	}
	return rooms
}

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}

func TestImportsGoDownwards(t *testing.T) {
	plan, err := os.ReadFile(root + "/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rooms, arrows := house(t), ReadArrows(string(plan))
	if len(arrows) == 0 {
		t.Fatal("ARCHITECTURE.md lists no arrows inside a floor")
	}
	report(t, CheckFloors(rooms, arrows))
	used := map[Arrow]bool{}
	for _, room := range rooms {
		for _, file := range room.Files {
			ours, _ := file.Imports()
			for _, to := range ours {
				used[Arrow{room.Path, to}] = true
			}
		}
	}
	for _, a := range arrows {
		if !used[a] {
			t.Errorf("ARCHITECTURE.md lists an arrow nobody uses: %s to %s", a.From, a.To)
		}
	}
}

func TestRoomsThatDecideArePure(t *testing.T) { report(t, CheckPurity(house(t))) }

func TestRoomsThatDecideDoNotShowMapOrder(t *testing.T) { report(t, CheckMapOrder(house(t))) }

func TestRoomsSayWhatTheyOwn(t *testing.T) { report(t, CheckPackageComments(house(t))) }

// The rules must be able to fail: testdata holds a house that breaks each one.
func TestBrokenHouseIsCaught(t *testing.T) {
	rooms, err := Rooms("testdata/house")
	if err != nil {
		t.Fatal(err)
	}
	faults := slices.Concat(CheckFloors(rooms, nil), CheckPurity(rooms), CheckPackageComments(rooms))
	all := strings.Join(faults, "\n")
	for _, want := range slices.Concat(worldly(), []string{
		"internal/edge/storage: upwards, floor 1 to 2",
		"internal/base/vfs: closed to rooms that decide",
		"internal/drive/b: an arrow inside floor 3",
		"raft.go imports os: a room that decides has no files",
		"starts a goroutine",
		"raft.go:25: takes Now of time",
		"raft.go:25: takes IntN of math/rand/v2",
		"chance.go imports math/rand: a room that decides has no global randomness",
		"chance.go imports runtime/debug: a room that decides has no sight of the machine",
		"dot.go:3: imports all names of time",
		"internal/drive/a has no package comment",
	}) {
		if !strings.Contains(all, want) {
			t.Errorf("not caught: %s\nfound:\n%s", want, all)
		}
	}
	for _, fine := range []string{"takes New of", "takes NewPCG of", "takes Second of", "clock.go:18", "core/raft has no package comment"} {
		if strings.Contains(all, fine) {
			t.Errorf("caught, though it is in order: %s\nfound:\n%s", fine, all)
		}
	}
	// The broken room imports packages of the real tree, which type-check from there.
	order := CheckMapOrder([]Room{withoutImports(rooms)})
	if len(order) != 1 || !strings.Contains(order[0], "ranges over a map") {
		t.Errorf("want exactly the unmarked range over a map, got %q", order)
	}
}

// worldly is what clock.go and chance.go of the broken room must not take, under
// any name.
func worldly() []string {
	var want []string
	for _, name := range []string{"Time", "Sleep", "Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"} {
		want = append(want, "takes "+name+" of time,")
	}
	for _, name := range []string{"Uint32N", "UintN", "Uint64N", "NormFloat64", "ExpFloat64", "Float32", "Int32", "N", "Perm"} {
		want = append(want, "takes "+name+" of math/rand/v2,")
	}
	return want
}

func withoutImports(rooms []Room) Room {
	for _, r := range rooms {
		if r.Path == "internal/core/raft" {
			return r
		}
	}
	return Room{}
}
