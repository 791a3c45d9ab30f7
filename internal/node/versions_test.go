package node

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/throttle"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// versions is a range of versions of one API.
type versions struct{ min, max int16 }

// kafkas are the ranges that Apache Kafka 4.4.0 tells in ApiVersions on a plaintext
// listener, by key.
func kafkas(t *testing.T, path string) map[int16]versions {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int16]versions{}
	for line := range strings.Lines(string(raw)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if columns[0] != "api" {
			continue
		}
		number := func(text string) int16 {
			n, err := strconv.ParseInt(text, 10, 16)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return int16(n)
		}
		all[number(columns[1])] = versions{number(columns[3]), number(columns[4])}
	}
	return all
}

// absent are the APIs that Apache Kafka's broker has and ours has not: their features
// are finalized at 0 where one of ours is in the cluster.
var absent = map[int16]string{
	24: "transactions are coordinated by nodes that have transaction.version",
	25: "transactions", 26: "transactions", 28: "transactions",
	68: "group.version", 69: "group.version",
	76: "share.version", 77: "share.version", 78: "share.version", 79: "share.version",
	83: "share.version", 84: "share.version", 85: "share.version", 86: "share.version", 87: "share.version",
	88: "streams.version", 89: "streams.version", 93: "streams.version",
	90: "share.version", 91: "share.version", 92: "share.version",
}

// Every API of Apache Kafka's at every version, and none besides.
func TestTablesAreApacheKafkas(t *testing.T) {
	a := apisOf(t, &controllerRole{node: new(ctrlnode.Node)})
	f := func(file string, table *api.Table, absent map[int16]string) {
		t.Helper()
		theirs, ours := kafkas(t, file), map[int16]versions{}
		for _, r := range table.Routes() {
			ours[r.Key] = versions{r.Min, r.Max}
			if r.Key == 0 {
				ours[0] = versions{r.ListedFrom, r.Max}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(theirs)) {
			_, named := absent[key]
			got, ok := ours[key]
			switch {
			case !ok && !named:
				t.Errorf("%s: API %d is missing", file, key)
			case ok && named:
				t.Errorf("%s: API %d is named as absent and is there", file, key)
			case ok && got != theirs[key]:
				t.Errorf("%s: API %d has versions %v, not %v", file, key, got, theirs[key])
			}
			delete(ours, key)
		}
		if len(ours) > 0 {
			t.Errorf("%s does not have %v", file, ours)
		}
	}
	f("testdata/apiversions-controller.tsv", a.onController(), nil)
	f("testdata/apiversions-broker.tsv", a.onBroker(&brokerRole{env: a.env, parts: new(partitions.Manager), quotas: throttle.New(0, 1, 1)}), absent)
}
