package kafka

import "testing"

// FuzzParseUUID: a text is an id or an error, and an id has one text.
func FuzzParseUUID(f *testing.F) {
	f.Add("AAAAAAAAAAAAAAAAAAAAAQ")
	f.Add("yZcH9xkzZsU-eBpMEkMEhA==")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseUUID(text)
		if err != nil {
			return
		}
		if again, err := ParseUUID(u.String()); err != nil || again != u {
			t.Errorf("%q is %v, and that is read as %v, %v", text, u, again, err)
		}
	})
}
