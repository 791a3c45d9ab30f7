package lint

import (
	"os"
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

func TestRoomsThatDecideDoNotShowMapOrder(t *testing.T) {
	if testing.Short() {
		// Type-checking from source takes longer than all other rules together;
		// the full run keeps this one.
		t.Log("left to the full run")
		return
	}
	report(t, CheckMapOrder(house(t)))
}

// The rules must be able to fail: testdata holds a house that breaks each one.
func TestBrokenHouseIsCaught(t *testing.T) {
	rooms, err := Rooms("testdata/house")
	if err != nil {
		t.Fatal(err)
	}
	faults := append(CheckFloors(rooms, nil), CheckPurity(rooms)...)
	all := strings.Join(faults, "\n")
	for _, want := range []string{
		"internal/edge/storage: upwards, floor 1 to 2",
		"internal/base/vfs: closed to rooms that decide",
		"internal/drive/b: an arrow inside floor 3",
		"raft.go imports os: a room that decides has no files",
		"starts a goroutine",
		"looks at a clock: time.Now",
		"draws chance from a shared source: rand.IntN",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not caught: %s\nfound:\n%s", want, all)
		}
	}
	// The broken room imports packages of the real tree, which type-check from there.
	order := CheckMapOrder([]Room{withoutImports(rooms)})
	if len(order) != 1 || !strings.Contains(order[0], "ranges over a map") {
		t.Errorf("want exactly the unmarked range over a map, got %q", order)
	}
}

func withoutImports(rooms []Room) Room {
	for _, r := range rooms {
		if r.Path == "internal/core/raft" {
			return r
		}
	}
	return Room{}
}
