package kerr

import (
	"fmt"
	"testing"
)

func TestAnErrorAnswersWithItsCode(t *testing.T) {
	f := func(err error, want Code, message string) {
		t.Helper()
		if got := Of(err); got != want {
			t.Errorf("Of(%v) = %v, want %v", err, got, want)
		}
		if m := Message(err); (m == nil) != (message == "") || m != nil && *m != message {
			t.Errorf("Message(%v) = %v, want %q", err, m, message)
		}
	}
	f(nil, None, "")
	f(NotController, NotController, "NOT_CONTROLLER")
	f(Errorf(InvalidConfig, "key %q", "x"), InvalidConfig, `key "x"`)
	f(fmt.Errorf("creating: %w", Errorf(InvalidConfig, "key")), InvalidConfig, "key")
	f(fmt.Errorf("disk"), UnknownServerError, "disk")
	if !NotController.Retriable() || InvalidConfig.Retriable() {
		t.Error("retriable codes are mixed up")
	}
}
