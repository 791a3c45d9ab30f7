package peer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A report keeps what stands before its table and the lines of cells that were not
// played, and is in order.
func TestAReportIsBroughtUpToDate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.md")
	old := outcome{Row: 2, Name: "stays", Result: "passed", Took: 3 * time.Second, Acked: 4, Records: 5, Images: 6, Events: "x 1", Commit: "abc"}
	gone := old
	gone.Row, gone.Name, gone.Result = 1, "is played again", "FAILED"
	if err := os.WriteFile(file, []byte("# Head\n\n"+mark+gone.line()+old.line()), 0o644); err != nil {
		t.Fatal(err)
	}
	before := outcomes.all
	defer func() { outcomes.all = before }()
	outcomes.all = []outcome{
		{Row: 1, Name: "is played again", Result: "passed", Took: 90 * time.Second, Acked: 1, Records: 2, Events: "a 1, b 0"},
		{Row: 1, Name: "is new", Result: "passed"},
	}
	if err := WriteReport(file, "def", []Cell{{Row: 2, Name: "stays"}, {Row: 2, Name: "was never played"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Head\n\n" + mark +
		"| 1 | is new | passed | 0 | 0 | 0 | 0 |  | def |\n" +
		"| 1 | is played again | passed | 90 | 1 | 2 | 0 | a 1, b 0 | def |\n" +
		"| 2 | stays | passed | 3 | 4 | 5 | 6 | x 1 | abc |\n" +
		"| 2 | was never played | not played | 0 | 0 | 0 | 0 |  |  |\n"
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if _, err := parseTable(strings.Replace(old.line(), "| 4 |", "| four |", 1)); err == nil {
		t.Error("a line without numbers was read")
	}
}
