package invariant

import (
	"errors"
	"strings"
	"testing"
)

func TestABrokenInvariantStopsAndNamesTheValues(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		var broken Broken
		if !errors.As(err, &broken) || !strings.Contains(err.Error(), "hw 5 past end 4") {
			t.Errorf("panicked with %v", err)
		}
	}()
	Check(true, "never shown")
	Check(false, "hw %d past end %d", 5, 4)
}

func TestCostlyChecksAndCountsRunOnlyWithTheTag(t *testing.T) {
	ran := false
	Costly(func() { ran = true })
	Sometimes(true, "here")
	Sometimes(false, "there")
	counts := Reached()
	if ran != costly || (counts["here"] == 1) != costly || counts["there"] != 0 {
		t.Errorf("with costly=%v: ran %v, counts %v", costly, ran, counts)
	}
}
