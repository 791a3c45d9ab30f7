package auth

import (
	"crypto/pbkdf2"
	"encoding/base64"
	"testing"
)

// The example of RFC 7677, 3: user "user" with the password "pencil".
func TestKeysAreThoseOfTheRFC(t *testing.T) {
	salt, _ := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	salted, err := pbkdf2.Key(ScramSHA256.Hash(), "pencil", salt, MinIterations, 32)
	if err != nil {
		t.Fatal(err)
	}
	stored, server := ScramSHA256.Keys(salted)
	f := func(name string, got []byte, want string) {
		t.Helper()
		if text := base64.StdEncoding.EncodeToString(got); text != want {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
	f("the stored key", stored, "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=")
	f("the server key", server, "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")
}

func TestMechanismsAreTwo(t *testing.T) {
	for m, want := range map[Mechanism]bool{-1: false, 0: false, ScramSHA256: true, ScramSHA512: true, 3: false} {
		if m.Known() != want {
			t.Errorf("mechanism %d: known %v", m, m.Known())
		}
	}
	if stored, server := ScramSHA512.Keys([]byte("p")); len(stored) != 64 || len(server) != 64 {
		t.Errorf("%d and %d bytes", len(stored), len(server))
	}
}
