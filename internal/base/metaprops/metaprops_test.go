package metaprops

import (
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

var kafkas = Properties{Version: 1, ClusterID: "AAAAAAAAAAAAAAAAAAAAAg", NodeID: 11, DirID: mustUUID("KnYXlkAFTAy4bVsCRvcVVA")}

// text is the file Apache Kafka 4.4 wrote for kafkas.
const text = "#\n#Sun Nov 29 20:35:12 UTC 2026\nnode.id=11\ndirectory.id=KnYXlkAFTAy4bVsCRvcVVA\nversion=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\n"

func mustUUID(text string) kafka.UUID {
	u, err := kafka.ParseUUID(text)
	if err != nil {
		panic(err)
	}
	return u
}

// Rule: the file is Kafka's, byte for byte.
func TestTextIsKafkas(t *testing.T) {
	if got := string(kafkas.Text(time.Date(2026, 11, 29, 20, 35, 12, 0, time.UTC))); got != text {
		t.Errorf("got:\n%s", got)
	}
	p, err := Parse([]byte(text))
	if err != nil || p != kafkas {
		t.Errorf("%+v %v", p, err)
	}
}

// Rule (T-04): every cluster id survives the file.
func TestClusterIDsRoundTrip(t *testing.T) {
	f := func(id, escaped string) {
		t.Helper()
		file := Properties{Version: 1, ClusterID: id, NodeID: 1}.Text(time.Now())
		if !strings.Contains(string(file), "\ncluster.id="+escaped+"\n") {
			t.Errorf("%q is written as %s", id, file)
		}
		if p, err := Parse(file); err != nil || p.ClusterID != id {
			t.Errorf("%q comes back as %q, %v", id, p.ClusterID, err)
		}
	}
	f("my-cluster", "my-cluster")
	f("a=b", `a\=b`)
	f(" a b:#!\\", `\ a b\:\#\!\\`)
	f("ä", `\u00E4`)
	f("0ee6a1d4-2f32-4a35-a8d5-3a7c7b4bd0b5", "0ee6a1d4-2f32-4a35-a8d5-3a7c7b4bd0b5")
}

// Rule (jbod.md 1.5): separators, comments and order are Java's; version 0
// names broker.id; what cannot be read is an error.
func TestParse(t *testing.T) {
	f := func(text string, want Properties, wantErr string) {
		t.Helper()
		got, err := Parse([]byte(text))
		gotErr := ""
		if err != nil {
			gotErr = err.Error()
		}
		if got != want || gotErr != wantErr {
			t.Errorf("%q\n got %+v %s\nwant %+v %s", text, got, gotErr, want, wantErr)
		}
	}
	f("version 1\r\ncluster.id: x\r\n! c\r\n node.id = 7 ", Properties{1, "x", 7, kafka.DirID{}}, "")
	f("broker.id=3", Properties{0, "", 3, kafka.DirID{}}, "")
	f("", Properties{0, "", kafka.NoNode, kafka.DirID{}}, "")
	f("version=1\ncluster.id=x", Properties{}, "meta.properties needs both cluster.id and node.id")
	f("version=1\nnode.id=1", Properties{}, "meta.properties needs both cluster.id and node.id")
	f("version=2\nnode.id=1\ncluster.id=x", Properties{}, "meta.properties has version 2; known are 0 and 1")
	f("version=1\nnode.id=x\ncluster.id=x", Properties{}, `meta.properties: node.id is not a number: "x"`)
	f("version=1\nnode.id=1\ncluster.id=x\ndirectory.id=zz", Properties{}, `meta.properties: directory.id: "zz" is not an id: want 22 characters of URL-safe base64`)
}

// FuzzParse: no file crashes the reader, and what was read is written and read
// as the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte("broker.id=1\nversion=0\ncluster.id=\\u00e4\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil || p.ClusterID == "" {
			return
		}
		if again, err := Parse(p.Text(time.Now())); err != nil || again != p {
			t.Errorf("%+v comes back as %+v, %v", p, again, err)
		}
	})
}
