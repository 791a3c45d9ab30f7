package spec

import (
	"strings"
	"testing"
)

func TestReadDot(t *testing.T) {
	f := func(dot, want string) {
		t.Helper()
		p, err := ReadDot(strings.NewReader(dot))
		if err != nil || len(p) != 1 || !p[want] {
			t.Errorf("%v, %v; want %q", p, err, want)
		}
	}
	f(`  s1 [label="node=(n1 :> [epoch |-> 1, granted |-> {n1, n2}, heard |-> false, hw |-> 1, leader |-> n1, log |-> <<[epoch |-> 1, voters |-> {n1, n2}], [epoch |-> 1, voters |-> {n1, n2}]>>, refused |-> {}, `+
		`role |-> \"leader\", voted |-> n1] @@ n2 :> [epoch |-> 0, granted |-> {}, heard |-> true, hw |-> 0, leader |-> None, log |-> <<>>, `+
		`refused |-> {}, role |-> \"unattached\", voted |-> n1])\nrequests={[epoch |-> 0]}\nanswers={}"];`,
		"1 leader 0 1 11 1|0 unattached 1 0 - -")
	f(`  s1 [label="node=(n1 :> [epoch |-> 1, hw |-> 1, leader |-> n1, log |-> <<[epoch |-> 1, voters |-> {n1, n2}], [epoch |-> 1, voters |-> {n2}]>>, `+
		`role |-> \"leader\", voted |-> n1] @@ n2 :> [epoch |-> 1, hw |-> 1, leader |-> n1, log |-> <<[epoch |-> 1, voters |-> {n1, n2}]>>, `+
		`role |-> \"follower\", voted |-> n1])\nrequests={}\nanswers={}"];`,
		"1 leader 0 1 11@2 1|1 follower 1 1 1 1")
}

func TestReadDotRefuses(t *testing.T) {
	if p, err := ReadDot(strings.NewReader(`s1 [label="node=(n1 :> [epoch |-> 1])\nrequests={}"];`)); err == nil {
		t.Errorf("read %v of a record without fields", p)
	}
}

func TestMissing(t *testing.T) {
	a, err := ReadProjection(strings.NewReader("x\ny\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := (Projection{"x": true}).Missing(a); len(got) != 1 || got[0] != "y" {
		t.Errorf("missing %v, want y", got)
	}
}
