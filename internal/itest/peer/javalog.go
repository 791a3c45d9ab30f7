package peer

import (
	"regexp"
	"slices"
	"strings"
)

// severe are the lines of a Java log that name trouble.
var severe = regexp.MustCompile(`^\[[^]]*\] (ERROR|FATAL) `)

// expected are the severe lines that Apache Kafka writes when peers come and go and
// when the machine is slow, and why each is harmless.
var expected = []struct{ name, pattern string }{
	{"a request reached a controller that does not lead", `Unexpected error handling request .*NotControllerException`},
	{"a fetch reached a replica that does not lead any more", `NOT_LEADER_OR_FOLLOWER|NotLeaderOrFollowerException`},
	{"a peer is away", `Connection to node .* could not be established`},
	{"a peer went while it was asked", `was disconnected before the response was read`},
	{"a reassignment brings a broker a replica of a topic that it has not created", `Expected partition \S+ with topic id \S+ to exist, but it was missing\. Creating\.\.\.`},
	{"metadata reach a broker that has closed its coordinators already, at its end", `Execution of UpdateImage\(.* failed due to EventProcessor is closed`},
	{"the machine is slow", `Exceptionally slow controller event|controller event queue overloaded`},
	{"Java voters end together, and nobody is left to hand over to", `Graceful shutdown of RaftClient failed`},
}

// bad gives the severe lines of a Java log that nobody expects. A line goes on with
// what follows it up to the next one that begins with a time: the exception.
func bad(log string) (found []string) {
	lines := strings.Split(log, "\n")
	for i, line := range lines {
		if !severe.MatchString(line) {
			continue
		}
		if i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "[") {
			line += " " + lines[i+1]
		}
		if !isExpected(line) {
			found = append(found, line)
		}
	}
	return found
}

func isExpected(line string) bool {
	for _, e := range expected {
		if regexp.MustCompile(e.pattern).MatchString(line) {
			return true
		}
	}
	return false
}

// Excuse has lines of trouble be expected in this cluster whose text matches, as the
// trouble was made on purpose.
func (c *Cluster) Excuse(pattern string) { c.excused = append(c.excused, regexp.MustCompile(pattern)) }

// unexcused are the lines that nobody expects in this cluster either.
func (c *Cluster) unexcused(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc(c.excused, func(r *regexp.Regexp) bool { return r.MatchString(line) })
	})
}

// QuietJava fails the test when a Java node has written a severe line that is not
// expected, in any of its lives.
func (c *Cluster) QuietJava() {
	c.t.Helper()
	for _, n := range c.Nodes {
		for _, r := range n.runs {
			if !r.kind.Java() {
				continue
			}
			if lines := c.unexcused(bad(r.proc.Output())); len(lines) > 0 {
				c.t.Errorf("node %d as %s: %d lines of trouble: %s", n.ID, r.kind, len(lines), strings.Join(lines[:min(3, len(lines))], " | "))
			}
		}
	}
}
