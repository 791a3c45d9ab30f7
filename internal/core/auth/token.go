package auth

import (
	"crypto/hmac"
	"crypto/sha512"
)

// TokenHMAC is what the owner of a delegation token proves to have it with: it is not
// stored, whoever has the secret can make it again of the token's id (KIP-48).
func TokenHMAC(secret, tokenID string) []byte {
	mac := hmac.New(sha512.New, []byte(secret))
	mac.Write([]byte(tokenID))
	return mac.Sum(nil)
}

// SameHMAC compares two of them in a time that tells nothing of them.
func SameHMAC(a, b []byte) bool { return hmac.Equal(a, b) }
