package compare

import (
	"encoding/hex"
	"testing"

	"github.com/ottla/ottla/internal/base/metarec"
)

// The order of a registration's features tells nothing, their levels do.
func TestImagesDifferByWhatIsInThemOnly(t *testing.T) {
	line := func(features ...metarec.RegisterBrokerRecordBrokerFeature) string {
		t.Helper()
		raw, err := metarec.AppendMetadata(nil, &metarec.RegisterBrokerRecord{BrokerId: 1, Features: features}, 3)
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(raw)
	}
	a := metarec.RegisterBrokerRecordBrokerFeature{Name: "a", MaxSupportedVersion: 1}
	b := metarec.RegisterBrokerRecordBrokerFeature{Name: "b", MaxSupportedVersion: 2}
	higher := b
	higher.MaxSupportedVersion = 3
	f := func(different int, ours, theirs string) {
		t.Helper()
		only, not := difference(alike([]string{ours, "none"}), alike([]string{theirs}))
		if len(only) != different+1 || len(not) != different {
			t.Errorf("only ours: %v, only theirs: %v", readable(only), readable(not))
		}
	}
	f(0, line(a, b), line(b, a))
	f(1, line(a, b), line(higher, a))
	f(1, line(a, b), line(a))
}
