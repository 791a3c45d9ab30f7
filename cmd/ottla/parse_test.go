package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Rule: settings are key=value, separated by commas; brackets hold a list.
func TestParseConfigList(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		settings, err := parseConfigList(text)
		got := fmt.Sprint(settings)
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
	f("", "[]")
	f("a=1", "[[a 1]]")
	f("a=1, b=,c=[x,y],d=2", "[[a 1] [b ] [c x,y] [d 2]]")
	f("a=[]", "[[a ]]")
	f("a=b=c", "[[a b=c]]")
	f("a", `! --add-config: "a" is not of the form key=value`)
	f("a,b=1", `! --add-config: "a,b=1" is not of the form key=value`)
	f("=1", `! --add-config: "=1" is not of the form key=value`)
	f("a=[x", "! --add-config: the value of a has no closing bracket")
}

// Rule: a duration is ISO 8601's or Go's.
func TestParseDuration(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		d, err := parseDuration(text)
		got := d.String()
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	f("P1D", "24h0m0s")
	f("PT2H30M", "2h30m0s")
	f("pt1.5s", "1.5s")
	f("P1DT1S", "24h0m1s")
	f("90m", "1h30m0s")
	f("P", `! "P" is not a duration such as P1D, PT2H30M or 90m`)
	f("P1DT", `! "P1DT" is not a duration such as P1D, PT2H30M or 90m`)
	f("-5m", `! "-5m" is not a duration such as P1D, PT2H30M or 90m`)
	f("P999999999999D", `! "P999999999999D" is too long`)
}

// Rule: --to-datetime is UTC unless it names another offset.
func TestMoment(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		r := resetFlags{datetime: text}
		then, err := r.moment(time.Time{})
		got := then.UTC().Format(time.RFC3339Nano)
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	f("2026-01-31T12:00:00.500", "2026-01-31T12:00:00.5Z")
	f("2026-01-31T12:00:00", "2026-01-31T12:00:00Z")
	f("2026-01-31T12:00:00+01:00", "2026-01-31T11:00:00Z")
	f("yesterday", "!")
}

// Rule: --reset-offsets has exactly one target.
func TestResetTargets(t *testing.T) {
	f := func(ok bool, r resetFlags) {
		t.Helper()
		if err := r.check(); (err == nil) != ok {
			t.Errorf("%+v: %v", r, err)
		}
	}
	none := resetFlags{offset: noNumber, shift: noNumber}
	with := func(change func(*resetFlags)) resetFlags { r := none; change(&r); return r }
	f(false, none)
	f(true, with(func(r *resetFlags) { r.earliest = true }))
	f(true, with(func(r *resetFlags) { r.shift = 0 }))
	f(false, with(func(r *resetFlags) { r.latest, r.offset = true, 5 }))
	f(false, with(func(r *resetFlags) { r.latest, r.execute, r.dryRun = true, true, true }))
}

// Rule: brokers of one partition are parted by colons, partitions by commas.
func TestParseAssignment(t *testing.T) {
	got, err := parseAssignment("1:2,2:3")
	if err != nil || len(got) != 2 || fmt.Sprint(got[0].Partition, got[0].Replicas, got[1].Partition, got[1].Replicas) != "0 [1 2] 1 [2 3]" {
		t.Errorf("%v %v", got, err)
	}
	if _, err := parseAssignment("1:x"); err == nil || err.Error() != `--replica-assignment: "x" is not a broker's id` {
		t.Error(err)
	}
}

// Rule: a record is printed as kafka-console-consumer prints it, or as JSON.
func TestRecordFormat(t *testing.T) {
	record := &kgo.Record{Topic: "t", Partition: 3, Offset: 7, Timestamp: time.UnixMilli(1000), Key: []byte("k"), Value: []byte("v"),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}}}
	f := func(want string, asJSON bool, properties ...string) {
		t.Helper()
		format, err := newRecordFormat(properties, asJSON)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := format.print(&b, record); err != nil || b.String() != want {
			t.Errorf("%v\n got %q %v\nwant %q", properties, b.String(), err, want)
		}
	}
	f("v\n", false)
	f("CreateTime:1000\tPartition:3\tOffset:7\ta:1,b:null\tk\tv\n", false, "print.timestamp=true", "print.partition=true", "print.offset=true", "print.headers=true", "print.key=true")
	f("k|v;", false, "print.key=true", "key.separator=|", "line.separator=;")
	f("k\n", false, "print.key=true", "print.value=false")
	f(`{"topic":"t","partition":3,"offset":7,"timestamp":"1970-01-01T00:00:01Z","key":"k","value":"v","headers":[{"key":"a","value":"1"},{"key":"b","value":null}]}`+"\n", true)
	record.Key, record.Value, record.Headers = nil, nil, nil
	f("NO_HEADERS\tNULL\tNULL\n", false, "print.headers=true", "print.key=true", "null.literal=NULL")
	f(`{"topic":"t","partition":3,"offset":7,"timestamp":"1970-01-01T00:00:01Z","key":null,"value":null}`+"\n", true)
}

// Rule: columns are aligned by what people see, and no line ends in a blank.
func TestTable(t *testing.T) {
	tab := &table{}
	tab.row("NAME", "N")
	tab.row("ä", 1)
	tab.row("longer", "")
	var b strings.Builder
	if err := tab.print(&b); err != nil || b.String() != "NAME    N\nä       1\nlonger\n" {
		t.Errorf("%q %v", b.String(), err)
	}
}

// Rule: dev listens where it is told, tells clients an address they can reach,
// and has its folders inside its data folder.
func TestDevProperties(t *testing.T) {
	f := func(d devFlags, want ...string) {
		t.Helper()
		all, err := d.properties()
		if err != nil || len(all) != d.nodes {
			t.Fatal(len(all), err)
		}
		for _, line := range want {
			if text := strings.Join(all, "\n"); !strings.Contains(text, line+"\n") {
				t.Errorf("no %s in\n%s", line, text)
			}
		}
	}
	f(devFlags{data: "d", port: 9092, disks: 1, nodes: 1, listen: "127.0.0.1"},
		"listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093", "advertised.listeners=PLAINTEXT://127.0.0.1:9092", "log.dirs=d/disk1", "controller.quorum.voters=1@127.0.0.1:9093")
	f(devFlags{data: "d", port: 1000, disks: 3, nodes: 1, listen: "0.0.0.0"}, "listeners=PLAINTEXT://0.0.0.0:1000,CONTROLLER://127.0.0.1:1001", "advertised.listeners=PLAINTEXT://localhost:1000", "log.dirs=d/disk1,d/disk2,d/disk3")
	f(devFlags{data: "d", port: 1000, disks: 1, nodes: 1, listen: "::", advertise: "kafka.example"}, "listeners=PLAINTEXT://[::]:1000,CONTROLLER://127.0.0.1:1001", "advertised.listeners=PLAINTEXT://kafka.example:1000")
	f(devFlags{data: "d", port: 9092, disks: 2, nodes: 3, listen: "127.0.0.1", metrics: "127.0.0.1:9200"},
		"controller.quorum.voters=1@127.0.0.1:9093,2@127.0.0.1:9095,3@127.0.0.1:9097", "node.id=3", "listeners=PLAINTEXT://127.0.0.1:9096,CONTROLLER://127.0.0.1:9097",
		"log.dirs=d/node3/disk1,d/node3/disk2", "default.replication.factor=3", "ottla.metrics.listener=127.0.0.1:9200", "ottla.metrics.listener=127.0.0.1:9202")
}
