package wire

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// golden is one body as Kafka writes it.
type golden struct {
	key, version int16
	request      bool
	variant      string
	body         []byte
}

func (g golden) String() string {
	kind := "response"
	if g.request {
		kind = "request"
	}
	return kmsg.NameForKey(g.key) + " " + kind + " v" + strconv.Itoa(int(g.version)) + " " + g.variant
}

func (g golden) memory() (int64, error) {
	if g.request {
		return RequestMemory(g.key, g.version, g.body)
	}
	return ResponseMemory(g.key, g.version, g.body)
}

// codec is what requests and responses of kmsg have in common.
type codec interface {
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
	SetVersion(int16)
	IsFlexible() bool
	MaxVersion() int16
}

func (g golden) codec() codec {
	var c codec
	if g.request {
		c = kmsg.RequestForKey(g.key)
	} else {
		c = kmsg.ResponseForKey(g.key)
	}
	c.SetVersion(g.version)
	return c
}

func goldens(t testing.TB) []golden {
	t.Helper()
	f, err := os.Open("testdata/bodies.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []golden
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		c := strings.Split(lines.Text(), "\t")
		key, err1 := strconv.Atoi(c[0])
		version, err2 := strconv.Atoi(c[2])
		body, err3 := hex.DecodeString(c[4])
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatalf("bad line %q", lines.Text())
		}
		all = append(all, golden{int16(key), int16(version), c[1] == "request", c[3], body})
	}
	if len(all) < 1000 {
		t.Fatalf("only %d bodies", len(all))
	}
	return all
}

func TestWalkAcceptsEveryBodyOfKafka(t *testing.T) {
	for _, g := range goldens(t) {
		if _, err := g.memory(); err != nil {
			t.Errorf("%v: %v", g, err)
		}
	}
}

// Every cut of a body is refused by the walk; a walk that read less than the
// decoder would count less, too.
func TestWalkRefusesEveryCutBody(t *testing.T) {
	for _, g := range goldens(t) {
		for n := range g.body {
			cut := g
			cut.body = g.body[:n]
			if _, err := cut.memory(); err == nil {
				t.Errorf("%v: accepted with %d of %d bytes", g, n, len(g.body))
				break
			}
		}
	}
}

func TestBodiesOfKmsgAreThoseOfKafka(t *testing.T) {
	for _, g := range goldens(t) {
		c := g.codec()
		if err := c.ReadFrom(g.body); err != nil {
			t.Errorf("%v: %v", g, err)
			continue
		}
		if got := c.AppendTo(nil); !bytes.Equal(got, g.body) {
			t.Errorf("%v:\n got %x\nwant %x", g, got, g.body)
		}
	}
}

func TestHeadersFollowTheFlexibleVersionsOfKmsg(t *testing.T) {
	for _, g := range goldens(t) {
		flexible := g.codec().IsFlexible()
		if g.request && FlexibleRequest(g.key, g.version) != flexible {
			t.Errorf("%v: flexible is %v in kmsg", g, flexible)
		}
		if !g.request && g.key != keyApiVersions && FlexibleResponseHeader(g.key, g.version) != flexible {
			t.Errorf("%v: flexible is %v in kmsg", g, flexible)
		}
	}
}

func TestKmsgKnowsTheNewestVersions(t *testing.T) {
	for _, g := range goldens(t) {
		if c := g.codec(); c.MaxVersion() < g.version {
			t.Errorf("%v: kmsg ends at %d", g, c.MaxVersion())
		}
	}
}
