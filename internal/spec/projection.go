package spec

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Projection is a set of states as all checkers show them: one line a state, its
// nodes in order and joined by "|", each of them "epoch role voted leader log hw".
// No node is 0; the log is the epoch of each batch, "-" when it is empty, and so is
// a high watermark of 0 or unknown. Where not all nodes are voters by a log, "@" and
// those that are stand after it. The vote of who leads or has led its epoch is left
// out, since it follows.
type Projection map[string]bool

// Missing are up to five lines that other has and p has not.
func (p Projection) Missing(other Projection) (lines []string) {
	for line := range other {
		if !p[line] && len(lines) < 5 {
			lines = append(lines, line)
		}
	}
	return lines
}

// ReadProjection reads lines.
func ReadProjection(r io.Reader) (Projection, error) {
	p, lines := Projection{}, bufio.NewScanner(r)
	for lines.Scan() {
		p[lines.Text()] = true
	}
	return p, lines.Err()
}

var (
	dotState = regexp.MustCompile(`^\s*s\d+ \[label="node=(.*?)\\nrequests=`)
	dotNode  = regexp.MustCompile(`(n\d) :> \[(.*?)\](?: @@|\)$)`)
	dotBatch = regexp.MustCompile(`epoch \|-> (\d+), voters \|-> \{(.*?)\}`)
	dotField = regexp.MustCompile(`([a-z]+) \|-> (<<.*?>>|\{.*?\}|[^,]*)`)
)

// ReadDot reads the graph that tla-checker exports.
func ReadDot(r io.Reader) (Projection, error) {
	p, lines := Projection{}, bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		state := dotState.FindStringSubmatch(lines.Text())
		if state == nil {
			continue
		}
		var nodes []string
		records := dotNode.FindAllStringSubmatch(state[1], -1)
		for _, n := range records {
			line, err := dotLine(n[2], len(records))
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, line)
		}
		p[strings.Join(nodes, "|")] = true
	}
	return p, lines.Err()
}

// dotLine shows the fields of one node of so many.
func dotLine(record string, nodes int) (string, error) {
	f := map[string]string{}
	for _, m := range dotField.FindAllStringSubmatch(record, -1) {
		f[m[1]] = m[2]
	}
	for _, name := range []string{"epoch", "role", "voted", "leader", "log", "hw"} {
		if f[name] == "" {
			return "", fmt.Errorf("no %s in %q", name, record)
		}
	}
	role, voted := strings.Trim(f["role"], `\"`), dotID(f["voted"])
	if role == "leader" || role == "resigned" {
		voted = "0"
	}
	return fmt.Sprintf("%s %s %s %s %s %s", f["epoch"], role, voted, dotID(f["leader"]), orDash(dotLog(f["log"], nodes)), orDash(f["hw"])), nil
}

// dotLog shows a log: the epochs of its batches, and who votes by the last one if
// not all nodes do.
func dotLog(log string, nodes int) string {
	var epochs strings.Builder
	voters := ""
	for _, m := range dotBatch.FindAllStringSubmatch(log, -1) {
		epochs.WriteString(m[1])
		voters = strings.NewReplacer("n", "", ", ", "").Replace(m[2])
	}
	if voters == "" || len(voters) == nodes {
		return epochs.String()
	}
	return epochs.String() + "@" + voters
}

func dotID(name string) string {
	if name == "None" {
		return "0"
	}
	return strings.TrimPrefix(name, "n")
}

func orDash(s string) string {
	if s == "" || s == "0" {
		return "-"
	}
	return s
}
