package main

import (
	"regexp"
	"strings"
	"testing"
)

// One seed is one story: its hash is the same read or unread, alone or in a row.
func TestSimTellsTheStoryOfASeed(t *testing.T) {
	hash := regexp.MustCompile(`hash ([0-9a-f]{32})`)
	read := succeeds(t, "", "sim", "--seed", "3", "--trace")
	for _, want := range []string{"seed 3: ", " is leader", "-- all agree on", "faults: "} {
		if !strings.Contains(read, want) {
			t.Errorf("the story does not tell %q", want)
		}
	}
	both := succeeds(t, "", "sim", "--seed", "2", "--count", "2")
	alone, inARow := hash.FindStringSubmatch(read), hash.FindAllStringSubmatch(both, -1)
	if len(alone) != 2 || len(inARow) != 2 || alone[1] != inARow[1][1] {
		t.Errorf("hashes %v and %v", alone, inARow)
	}
	if strings.Contains(both, "client proposes") {
		t.Error("a story is told that nobody asked for")
	}
}
