package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
)

// Mechanism is a SCRAM mechanism by its number in records and requests (KIP-554).
type Mechanism int8

// The mechanisms there are.
const (
	ScramSHA256 Mechanism = 1
	ScramSHA512 Mechanism = 2
)

// Bounds of the iterations of a SCRAM credential, as Kafka has them.
const (
	MinIterations = 4096
	MaxIterations = 16384
)

// Known tells whether there is such a mechanism.
func (m Mechanism) Known() bool { return m.Hash() != nil }

// Hash is the mechanism's hash function; nil for a mechanism that is not known.
func (m Mechanism) Hash() func() hash.Hash {
	switch m {
	case ScramSHA256:
		return sha256.New
	case ScramSHA512:
		return sha512.New
	}
	return nil
}

// Keys derives what is stored of a salted password: H(HMAC(p, "Client Key")) and
// HMAC(p, "Server Key") (RFC 5802, 3). The mechanism must be known.
func (m Mechanism) Keys(saltedPassword []byte) (stored, server []byte) {
	h := m.Hash()()
	h.Write(m.mac(saltedPassword, "Client Key"))
	return h.Sum(nil), m.mac(saltedPassword, "Server Key")
}

func (m Mechanism) mac(key []byte, text string) []byte {
	mac := hmac.New(m.Hash(), key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
