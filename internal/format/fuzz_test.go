package format

import (
	"github.com/ottla/ottla/internal/core/auth"
	"strings"
	"testing"
)

// FuzzParseVoters: a list of first voters is read or refused; those that are
// read are distinct and can be written into a checkpoint.
func FuzzParseVoters(f *testing.F) {
	f.Add("1@host:9093:JEXY6aqzQY-32P5TStzaFg,2@[::1]:9094:yZcH9xkzZsU-eBpMEkMEhA")
	f.Add("0@:1:")
	f.Fuzz(func(t *testing.T, text string) {
		voters, err := ParseVoters(text)
		if err != nil {
			return
		}
		seen := map[any]bool{}
		for _, v := range voters {
			if v.Host == "" || v.Node < 0 || v.Dir.Reserved() || seen[v.Node] || seen[v.Dir] {
				t.Errorf("%q: %+v of %+v", text, v, voters)
			}
			seen[v.Node], seen[v.Dir] = true, true
		}
	})
}

// FuzzParseScram: a credential is read or refused. Those with a password are
// left out: to derive a key takes thousands of hashes.
func FuzzParseScram(f *testing.F) {
	f.Add(`SCRAM-SHA-256=[name=alice,salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5Y2sxa3E=",saltedpassword="mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE=",iterations=8192]`)
	f.Add(`SCRAM-SHA-512=[name="a,b",salt=,saltedpassword=]`)
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "password", "saltedpassword")
		text = strings.ReplaceAll(text, "saltedsalted", "salted")
		r, err := ParseScram(text, strings.NewReader(""))
		if err == nil && (r.Name == "" || r.Iterations < auth.MinIterations || r.Iterations > auth.MaxIterations || len(r.Salt) == 0) {
			t.Errorf("%q: %+v", text, r)
		}
	})
}
