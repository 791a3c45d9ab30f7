package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// readTSV reads a table that was made with Apache Kafka 4.4's own classes.
func readTSV(t *testing.T, name string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows[cells[0]] = cells
	}
	return rows
}

// inKafka writes a row's default as Kafka's table does.
func inKafka(text string) string {
	switch text {
	case Null:
		return "<null>"
	case Required:
		return "<required>"
	}
	return text
}

// Rule: the table holds every key of Kafka 4.4 with Kafka's type, default,
// importance, scope and marks, and beside them only keys that Kafka does not
// define.
func TestBrokerKeysAreKafkas(t *testing.T) {
	kafkas := readTSV(t, "kafka-4.4-broker.tsv")
	scopes := map[Scope]string{Static: "read-only", PerBroker: "per-broker", Cluster: "cluster-wide"}
	for _, k := range Keys() {
		want, ok := kafkas[k.Name]
		if !ok {
			if k.Scope != DynamicKey && !k.Has(Own) && k.Name != "super.users" && k.Name != "allow.everyone.if.no.acl.found" {
				t.Errorf("%s is not a key of Kafka 4.4", k.Name)
			}
			continue
		}
		delete(kafkas, k.Name)
		got := []string{k.Name, k.Type.String(), inKafka(k.Default), want[3], strings.ToUpper(k.Importance.String()), yes(k.Has(Internal)), scopes[k.Scope], "", want[8]}
		if k.Has(NeedPrefix) {
			got[7] = "security"
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", k.Name, got, want)
		}
		if k.Has(ByListener) != strings.Contains(want[8], "listener-") || k.Has(BySASL) != strings.Contains(want[8], "mechanism-") {
			t.Errorf("%s: marks %b, Kafka's are %q", k.Name, k.Marks, want[8])
		}
		checkBounds(t, k, want[3])
	}
	for name := range kafkas {
		t.Errorf("%s is missing", name)
	}
}

// Rule: a topic's keys are Kafka's, with the broker's keys behind them.
func TestTopicKeysAreKafkas(t *testing.T) {
	kafkas := readTSV(t, "kafka-4.4-topic.tsv")
	for _, k := range TopicKeys() {
		want := kafkas[k.Name]
		delete(kafkas, k.Name)
		var synonyms []string
		for _, s := range synonymsOf(k.Name) {
			synonyms = append(synonyms, s.name+map[int64]string{1: "", 60_000: "(min->ms)", 3_600_000: "(h->ms)"}[s.unit])
		}
		got := []string{k.Name, k.Type.String(), inKafka(k.Default), want[3], yes(k.Has(Internal)), strings.Join(synonyms, ",")}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", k.Name, got, want)
		}
		checkBounds(t, k, want[3])
	}
	for name := range kafkas {
		t.Errorf("%s is missing", name)
	}
}

// Rule: a group's keys are Kafka's, stored and checked whatever group.version is.
func TestGroupKeysAreKafkas(t *testing.T) {
	kafkas := readTSV(t, "kafka-4.4-group.tsv")
	for _, k := range GroupKeys() {
		want := kafkas[k.Name]
		delete(kafkas, k.Name)
		if want == nil {
			t.Errorf("%s is not a key of Kafka 4.4", k.Name)
			continue
		}
		got := []string{k.Name, k.Type.String(), inKafka(k.Default), want[3], strings.ToUpper(k.Importance.String()), yes(k.Has(Internal))}
		if !slices.Equal(got, want[:6]) {
			t.Errorf("%s:\n got %q\nwant %q", k.Name, got, want)
		}
		if k.Name != "share.auto.offset.reset" { // checked by a rule of its own
			checkBounds(t, k, want[3])
		}
	}
	for name := range kafkas {
		t.Errorf("%s is missing", name)
	}
}

// checkBounds holds our notation of what is valid against Kafka's.
func checkBounds(t *testing.T, k Key, kafkas string) {
	t.Helper()
	got := k.Valid
	switch bounds, also, _ := strings.Cut(got, "|"); {
	case got == "p:b":
		got = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
	case strings.Contains(got, ".."):
		low, high, _ := strings.Cut(bounds, "..")
		got = "[" + low + ",..."
		if high != "" {
			got += "," + high
		}
		got += "]"
		if also != "" {
			got += " or " + also
		}
	case got == "+" && k.Type == List, got == "" && kafkas == "non-empty list", got == "" && kafkas == "non-null string":
		got = kafkas // Kafka 4.4 takes empty voters and refuses empty listeners, whatever its description says
	case got == "+":
		got = "non-empty string"
	case got != "":
		choices, anyCase := strings.CutPrefix(strings.TrimPrefix(got, "+"), "~")
		got = "[" + commaed(choices) + "]"
		if anyCase {
			got = "(case insensitive) " + got
		}
	}
	if got != kafkas {
		t.Errorf("%s: valid is %q, Kafka's is %q", k.Name, got, kafkas)
	}
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// Rule: tables are sorted, every default is valid, every key has a
// documentation of one line without a period, and every way to use it is told.
func TestTablesAreSound(t *testing.T) {
	for _, table := range [][]Key{Keys(), TopicKeys(), GroupKeys()} {
		for i, k := range table {
			if i > 0 && table[i-1].Name >= k.Name {
				t.Errorf("%s stands after %s", k.Name, table[i-1].Name)
			}
			if k.HasDefault() && k.Default != "" {
				if err := k.Check(k.Default); err != nil {
					t.Errorf("default: %v", err)
				}
			}
			if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || strings.Contains(k.Doc, "\n") {
				t.Errorf("%s: documentation %q", k.Name, k.Doc)
			}
			if k.Allowed() == "" || k.Use.String() == "" {
				t.Errorf("%s: says not what is allowed", k.Name)
			}
		}
	}
	if Lookup("log.dirs") == nil || Lookup("log.dirz") != nil || Lookup("") != nil || LookupTopic("zzz") != nil {
		t.Error("lookup finds the wrong keys")
	}
}
