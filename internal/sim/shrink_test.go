package sim

import (
	"strings"
	"testing"
)

// A plan that breaks no rule is not shrunk; what becomes of one that does is
// tested with planted bugs (package planted).
func TestWhatHoldsIsNotShrunk(t *testing.T) {
	p := NewPlan(3)
	same, r := Shrink(p, 10)
	if r.Failure != nil || same.Text() != p.Text() {
		t.Errorf("%v became %v, %v", p, same, r.Failure)
	}
}

// A plan that is written and read tells the same story; one that would not end, or
// that cannot be, is refused.
func TestPlansAreWrittenAndRead(t *testing.T) {
	p := NewPlan(5)
	read, err := ParsePlan([]byte(p.Text()))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := RunPlan(p, nil), RunPlan(read, nil); a.Hash != b.Hash {
		t.Errorf("hash %s when drawn, %s when read", a.Hash, b.Hash)
	}
	f := func(change func(*Plan), why string) {
		t.Helper()
		bad := NewPlan(5)
		change(&bad)
		if _, err := ParsePlan([]byte(bad.Text())); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
	f(func(p *Plan) { p.Voters = 0 }, "0 voters")
	f(func(p *Plan) { p.Observers = 1 << 30 }, "observers")
	f(func(p *Plan) { p.Speed = nil }, "0 clocks")
	f(func(p *Plan) { p.FaultEvery = 0 }, "a fault each 0s")
	f(func(p *Plan) { p.Room = 0 }, "room for 0")
	if _, err := ParsePlan([]byte("{")); err == nil {
		t.Error("half a plan is read")
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(NewPlan(1).Text()))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := ParsePlan(text); err == nil && p.Voters < 1 {
			t.Errorf("a plan without voters: %v", p)
		}
	})
}
