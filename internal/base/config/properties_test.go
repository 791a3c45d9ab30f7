package config

import (
	"fmt"
	"strings"
	"testing"
)

// Rule: a properties file is read as Java reads it, and every setting knows
// its line.
func TestParseProperties(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		all, err := parseProperties([]byte(text))
		got := ""
		for _, p := range all {
			got += fmt.Sprintf("%d %s=%q ", p.line, p.key, p.value)
		}
		if err != nil {
			got = "! " + err.Error()
		}
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
	f("", "")
	f("a=1\nb:2\nc 3\nd", `1 a="1" 2 b="2" 3 c="3" 4 d=""`)
	f("a=1\r\n\r\nb=2\r\n", `1 a="1" 3 b="2"`)
	f("a=1\rb=2", `1 a="1" 2 b="2"`)
	f("# x\\\na=1\n ! y\nb=2", `2 a="1" 4 b="2"`)
	f("a=1,\\\n   2,\\\n3\nb=4", `1 a="1,2,3" 4 b="4"`)
	f("a=x\\\\\nb=2", `1 a="x\\" 2 b="2"`)
	f("  a  =  1  ", `1 a="1  "`)
	f("a\\=b=c\\:d", `1 a=b="c:d"`)
	f("a=${b}\nb=${a}", `1 a="${b}" 2 b="${a}"`)
	f("a=\\u00e4\nb=\xe4", `1 a="ä" 2 b="ä"`)
	f("a=1\nb=\\u12", `! line 2: `+badUnicode(t))
	f("a=1\\", `1 a="1"`)
}

// badUnicode is how the library words a broken \u escape.
func badUnicode(t *testing.T) string {
	t.Helper()
	_, err := parseProperties([]byte("b=\\u12"))
	if err == nil {
		t.Fatal("a broken escape was taken")
	}
	return strings.TrimPrefix(err.Error(), "line 1: ")
}
