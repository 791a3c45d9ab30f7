package node

import (
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/base/config"
)

// "whom a node asks that finds no leader: those the settings name for it, else
// the static voters, as in Kafka."
func TestWhomToAskForTheLeader(t *testing.T) {
	f := func(line, voters, ask string) {
		t.Helper()
		text := "process.roles=broker\nnode.id=9\nlisteners=PLAINTEXT://127.0.0.1:0\ncontroller.listener.names=CONTROLLER\nlog.dirs=" + t.TempDir() + "\n" + line + "\n"
		cfg, _, err := config.Parse("server.properties", []byte(text), nil, config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, v := range staticVoters(cfg.Node()) {
			got += fmt.Sprintf("%d=%s:%d ", v.Key.Node, v.Endpoints[0].Host, v.Endpoints[0].Port)
		}
		if got != voters {
			t.Errorf("%s: the voters are %q, not %q", line, got, voters)
		}
		got = ""
		for _, e := range whomToAsk(cfg.Node()) {
			got += fmt.Sprintf("%s=%s:%d ", e.Name, e.Host, e.Port)
		}
		if got != ask {
			t.Errorf("%s: asks %q, not %q", line, got, ask)
		}
	}
	f("controller.quorum.voters=1@a:1,2@b:2", "1=a:1 2=b:2 ", "CONTROLLER=a:1 CONTROLLER=b:2 ")
	f("controller.quorum.bootstrap.servers=c:3", "", "CONTROLLER=c:3 ")
	f("controller.quorum.voters=1@a:1\ncontroller.quorum.bootstrap.servers=c:3", "1=a:1 ", "CONTROLLER=c:3 ")
}
