package planted

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of a design has a row for each statement, and each has a test and a bug.
func TestStatementsAreDocumented(t *testing.T) {
	for _, d := range designs {
		raw, err := os.ReadFile(filepath.Join(root, "docs", d.page))
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, m := range regexp.MustCompile(`(?m)^\| (`+d.letter+`\d+) \|`).FindAllStringSubmatch(string(raw), -1) {
			rows = append(rows, m[1])
		}
		if len(rows) != d.statements {
			t.Errorf("%s has %d statements: %v", d.page, len(rows), rows)
		}
		tests := ""
		for _, file := range d.files {
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			tests += string(text)
		}
		bugs := map[string]bool{}
		for _, b := range d.bugs(t) {
			bugs[b.Name] = true
		}
		for _, name := range rows {
			if !strings.Contains(tests, "func Test"+d.name+"_"+name+"(") {
				t.Errorf("%s has no test", name)
			}
			if !bugs[name] {
				t.Errorf("%s has no planted bug", name)
			}
		}
	}
}

// The functions that the pages name as rules stand in the files they name, and the
// tests they name are somewhere.
func TestThePagesNameWhatIsThere(t *testing.T) {
	tests := allTests(t)
	group := regexp.MustCompile("((?:`[\\w.]+`,? )+)\\(`([a-z0-9/_]+\\.go)`\\)")
	quoted := regexp.MustCompile("`(?:\\w+\\.)?(\\w+)`")
	for _, d := range designs {
		raw, err := os.ReadFile(filepath.Join(root, "docs", d.page))
		if err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, row := range strings.Split(string(raw), "\n") {
			cells := strings.Split(row, " | ")
			if !strings.HasPrefix(row, "| "+d.letter) || len(cells) < 5 {
				continue
			}
			for _, m := range group.FindAllStringSubmatch(cells[2], -1) {
				folder := "internal/core/raft"
				if strings.Contains(m[2], "/") {
					folder = "internal"
				}
				code, err := os.ReadFile(filepath.Join(root, folder, m[2]))
				if err != nil {
					t.Errorf("%s names %s: %v", d.page, m[2], err)
				}
				for _, name := range quoted.FindAllStringSubmatch(m[1], -1) {
					named++
					if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name[1] + `\(`).Match(code) {
						t.Errorf("%s has no function %s", m[2], name[1])
					}
				}
			}
			for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(cells[3], -1) {
				if !tests[name[1]] {
					t.Errorf("there is no test %s", name[1])
				}
			}
		}
		if named < d.statements {
			t.Errorf("%s names %d functions", d.page, named)
		}
	}
}

// allTests are the names of all tests of the tree.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	all, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The tests and conversations that the page of the other parts names are there.
func TestThePageOfTheQuorumNamesWhatIsThere(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs", "quorum.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := allTests(t)
	names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(raw), -1)
	for _, name := range names {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
	if len(names) < 30 {
		t.Errorf("the page names %d tests", len(names))
	}
	for _, name := range regexp.MustCompile("`([\\w/]+\\.txt)`").FindAllStringSubmatch(string(raw), -1) {
		if _, err := os.Stat(filepath.Join(root, "internal", "core", "raft", "testdata", name[1])); err != nil {
			t.Errorf("the page names %s: %v", name[1], err)
		}
	}
	rows := ""
	for _, file := range []string{"epochs_test.go", "changes_test.go"} {
		text, err := os.ReadFile(filepath.Join(root, "internal", "itest", "processes", "networks", file))
		if err != nil {
			t.Fatal(err)
		}
		rows += string(text)
	}
	for _, name := range regexp.MustCompile(`networks "([^"]+)"`).FindAllStringSubmatch(string(raw), -1) {
		if !strings.Contains(rows, `{name: "`+name[1]+`"`) {
			t.Errorf("the page names the row %q", name[1])
		}
	}
}
