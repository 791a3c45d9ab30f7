package peer

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outcome is what came of a cell.
type outcome struct {
	Row     int
	Name    string
	Result  string
	Took    time.Duration
	Acked   int    // records acknowledged to producers, and read once
	Records int    // of the metadata log that all nodes have
	Images  int    // snapshots that both sides made the same image of
	Events  string // each with the epochs that it cost
	Commit  string // of the tree that was played
}

var outcomes struct {
	sync.Mutex
	all []outcome
}

func note(o outcome) {
	outcomes.Lock()
	defer outcomes.Unlock()
	outcomes.all = append(outcomes.all, o)
}

// mark is the line behind which a report has its table.
const mark = "| row | cell | result | seconds | acknowledged | equal records | images | epochs | commit |\n|---|---|---|---|---|---|---|---|---|\n"

// notPlayed is the result of a cell that has not been played since it is there.
const notPlayed = "not played"

// WriteReport brings a report of all cells up to date: one that was played has a new
// line, others keep theirs, and one that has none is said not to have been played.
// What stands before the table stays.
func WriteReport(file, commit string, cells []Cell) error {
	outcomes.Lock()
	defer outcomes.Unlock()
	if len(outcomes.all) == 0 {
		return nil
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, table, ok := bytes.Cut(old, []byte(mark))
	if !ok {
		return fmt.Errorf("%s has no table", file)
	}
	all, err := parseTable(string(table))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, o := range outcomes.all {
		o.Commit = commit
		all = append(slices.DeleteFunc(all, o.sameCell), o)
	}
	for _, c := range cells {
		o := outcome{Row: c.Row, Name: c.Name, Result: notPlayed}
		if !slices.ContainsFunc(all, o.sameCell) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name)) })
	text := append(head, mark...)
	for _, o := range all {
		text = append(text, o.line()...)
	}
	return os.WriteFile(file, text, 0o644)
}

func (o outcome) sameCell(a outcome) bool { return a.Row == o.Row && a.Name == o.Name }

func (o outcome) line() string {
	return fmt.Sprintf("| %d | %s | %s | %.0f | %d | %d | %d | %s | %s |\n", o.Row, o.Name, o.Result, o.Took.Seconds(), o.Acked, o.Records, o.Images, o.Events, o.Commit)
}

// parseTable reads the lines of a report.
func parseTable(table string) (all []outcome, err error) {
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 9 {
			return nil, fmt.Errorf("no line of the table: %q", line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		o := outcome{Name: cells[1], Result: cells[2], Events: cells[7], Commit: cells[8]}
		seconds := 0
		for i, to := range map[int]*int{0: &o.Row, 3: &seconds, 4: &o.Acked, 5: &o.Records, 6: &o.Images} {
			if *to, err = strconv.Atoi(cells[i]); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
		}
		o.Took = time.Duration(seconds) * time.Second
		all = append(all, o)
	}
	return all, nil
}
