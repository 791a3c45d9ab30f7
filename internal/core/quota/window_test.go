package quota

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

func at(ms int) kafka.Instant { return kafka.Instant(time.Duration(ms) * time.Millisecond) }

// Rule: a window tells the rates that Apache Kafka's SimpleRate tells of the same
// records at the same times.
func TestAWindowTellsTheRatesOfKafka(t *testing.T) {
	text, err := os.ReadFile("testdata/simplerate.txt")
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var w Window
	rates := 0
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(strings.NewReplacer("samples=", "", "seconds=", "").Replace(line))
		switch {
		case f[0] == "#":
		case f[0] == "window":
			w = NewWindow(int(number(f[1])), time.Duration(number(f[2]))*time.Second)
		case f[1] == "record":
			w.Add(at(int(number(f[0]))), int(number(f[2])))
		default:
			rates++
			want := number(f[2])
			if got := w.Rate(at(int(number(f[0])))); math.Abs(got-want) > 1e-9*want {
				t.Errorf("line %d: %s; ours is %v", i+1, line, got)
			}
		}
	}
	if rates < 100 {
		t.Errorf("only %d rates were compared", rates)
	}
}

// Rules of the window, by name.
func TestRulesOfTheWindow(t *testing.T) {
	f := func(rule string, ms int, want float64, records ...[2]int) {
		t.Helper()
		w := NewWindow(11, time.Second)
		for _, r := range records {
			w.Add(at(r[0]), r[1])
		}
		if got := w.Rate(at(ms)); got != want {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
	}
	f("nothing is no rate", 5000, 0)
	f("the first span counts as a whole one", 1, 500, [2]int{0, 500})
	f("a burst is worth less with time", 10_000, 50, [2]int{0, 500})
	f("a burst is forgotten after all samples", 11_000, 0, [2]int{0, 500})
	f("what came since the oldest sample began is shared out", 4000, 200, [2]int{0, 500}, [2]int{2000, 300})
	f("a forgotten sample takes its time along", 11_500, 300, [2]int{0, 500}, [2]int{10_500, 300})
}

// Counting and looking allocate nothing once the window is full.
func TestAWindowAllocatesNothing(t *testing.T) {
	w, now := NewWindow(11, time.Second), at(0)
	if n := testing.AllocsPerRun(100, func() {
		now = now.Add(time.Second)
		w.Add(now, 1)
		w.Rate(now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
