package config

import "testing"

// Rule: a listener is NAME://host:port; the host may be empty or IPv6, the port
// 0; names are upper-cased.
func TestParseListener(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		l, err := parseListener(text)
		got := l.String()
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	f("PLAINTEXT://:9092", "PLAINTEXT://:9092")
	f("plaintext://localhost:0", "PLAINTEXT://localhost:0")
	f("A_B://a_b-c.example:1", "A_B://a_b-c.example:1")
	f("P://[::1]:9092", "P://[::1]:9092")
	f("P://::1:9092", "P://[::1]:9092")
	f("P://[fe80::1%eth0]:9092", "P://[fe80::1%eth0]:9092")
	f("P://h", `! "P://h" is not of the form NAME://host:port`)
	f("://h:1", `! "://h:1" is not of the form NAME://host:port`)
	f("P://h:", `! "P://h:": the port must be a number from 0 to 65535, not ""`)
	f("P://h:-1", `! "P://h:-1": the port must be a number from 0 to 65535, not "-1"`)
	f("P://h:65536", `! "P://h:65536": the port must be a number from 0 to 65535, not "65536"`)
	f("P://[::1:9092", `! "P://[::1:9092": the host "[::1" has no closing bracket`)
	f("P://a b:1", `! "P://a b:1": the host "a b" has a ' '`)
}
