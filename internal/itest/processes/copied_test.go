package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// A second process on a copy of a broker's folder is refused for as long as the
// broker lives, which does not notice; once it is dead, the copy is taken.
func TestACopyOfABrokersFolderWaitsForItsDeath(t *testing.T) {
	t.Parallel()
	a := startApart(t, "broker.session.timeout.ms=1500\nbroker.heartbeat.interval.ms=300")
	create(t, a.addr, "t", 3, nil)
	l := startLoad(t, a.addr, "t", "a")

	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.MkdirAll(copied, 0o755); err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join(a.dir, "broker", "meta.properties"))
	if err == nil {
		err = os.WriteFile(filepath.Join(copied, "meta.properties"), meta, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(a.brokerFile)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", itest.FreePort(t))
	file := itest.WriteFile(t, "copy.properties", strings.NewReplacer(a.addr, addr, filepath.Join(a.dir, "broker"), copied).Replace(string(settings)))
	twin := itest.Start(t, "broker on the copy", exec.Command(itest.Bin(t), "server", file, "--log-level", "debug"))
	itest.Eventually(t, func() error {
		if n := strings.Count(twin.Output(), "DUPLICATE_BROKER_REGISTRATION"); n < 10 {
			return fmt.Errorf("%d registrations are refused", n)
		}
		return nil
	})
	l.progress(t, 1000)
	acked := l.stop(t)
	exactlyOnce(t, readAll(t, a.addr, "t"), acked)
	if n := strings.Count(a.broker.Output(), "registered with the controller"); n != 1 {
		t.Errorf("the broker has registered %d times:\n%s", n, a.broker.Output())
	}
	a.broker.Kill()
	twin.Says(t, "registered with the controller")
}
