package quota

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Rules of the lists of throttled replicas, by name; the broker is 2, the partitions 0 to 3.
func TestRulesOfTheLists(t *testing.T) {
	f := func(rule, value, want string) {
		t.Helper()
		r := ParseReplicas(value, 2)
		has := []int{}
		for p := range 4 {
			if r.Has(kafka.PartitionID(p)) {
				has = append(has, p)
			}
		}
		if got := fmt.Sprint(has); got != want {
			t.Errorf("%s: %q lists %s, want %s", rule, value, got, want)
		}
		if r.None() != (want == "[]") {
			t.Errorf("%s: %q lists none: %v", rule, value, r.None())
		}
	}
	f("an empty list throttles nothing", "", "[]")
	f("a star throttles every replica", "*", "[0 1 2 3]")
	f("a pair throttles its replica", "1:2", "[1]")
	f("pairs of other brokers do not count", "0:1,1:2,2:3,3:2", "[1 3]")
	f("the order of pairs does not matter, nor that one comes twice", "3:2,0:2,3:2", "[0 3]")
	f("blanks do not count", " 0:2 , 1:2 ", "[0 1]")
	f("a list that cannot be read throttles nothing", "0:2,1", "[]")
	f("a list that cannot be read throttles nothing", "0:2,*", "[]")
	f("a list that cannot be read throttles nothing", "0:99999999999", "[]")
	f("a list that cannot be read throttles nothing", "0:2,1:2147483648", "[]")
	f("a list that cannot be read throttles nothing", "0:2,1:", "[]")
	f("a list that cannot be read throttles nothing", "0:2,:2", "[]")
	f("a list that cannot be read throttles nothing", "0:2,+1:2", "[]")
	f("a list that cannot be read throttles nothing", "0:2,1:2:3", "[]")
	f("a list that cannot be read throttles nothing", "0:2,", "[]")
	f("the largest numbers are read", "1:2,2147483647:2147483647", "[1]")
	f("a number may have zeros before it", "000000001:0000000002", "[1]")
}

// BenchmarkParseReplicas reads a list of 25 replicas, none of them here, as each broker
// does when a topic's list changes.
func BenchmarkParseReplicas(b *testing.B) {
	list := strings.Repeat("101:100,", 24) + "100:9999"
	b.ReportAllocs()
	for b.Loop() {
		if r := ParseReplicas(list, 2); !r.None() {
			b.Fatal(r)
		}
	}
}

// A list without a replica of this broker costs no memory.
func TestAListOfOthersAllocatesNothing(t *testing.T) {
	list := strings.Repeat("101:100,", 24) + "100:9999"
	if got := testing.AllocsPerRun(100, func() { ParseReplicas(list, 2) }); got != 0 {
		t.Errorf("it allocates %v times", got)
	}
}

// A list comes out of the metadata log, where anybody who may alter a topic puts it.
func FuzzParseReplicas(f *testing.F) {
	for _, s := range []string{"", "*", "0:1,1:2", "0:2,,", "2147483647:2147483647", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := ParseReplicas(value, 1)
		var plain, any Replicas
		if plain.readPlain(value, 1) && !(any.read(value, 1) && slices.Equal(plain.listed, any.listed)) {
			t.Errorf("%q is read as %v, and as any list as %v", value, plain.listed, any.listed)
		}
		if r.None() && r.Has(0) {
			t.Errorf("%q lists none, and partition 0", value)
		}
		for _, p := range r.listed {
			if p < 0 || !r.Has(p) {
				t.Errorf("%q lists %d, and does not find it", value, p)
			}
		}
	})
}
