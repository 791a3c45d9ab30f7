package group

import (
	"encoding/hex"
	"math/rand/v2"
)

// newMemberID makes the id of a member: the instance id of a static one or the
// client id of a dynamic one, and a random UUID (version 4).
func newMemberID(rng *rand.Rand, clientID, instanceID string) string {
	prefix := clientID
	if instanceID != "" {
		prefix = instanceID
	}
	return prefix + "-" + randomUUID(rng)
}

// randomUUID is a version 4 UUID in its text of 36 characters.
func randomUUID(rng *rand.Rand) string {
	var u [16]byte
	for i := 0; i < len(u); i += 8 {
		for j, v := 0, rng.Uint64(); j < 8; j, v = j+1, v>>8 {
			u[i+j] = byte(v)
		}
	}
	u[6] = u[6]&0x0f | 0x40 // version
	u[8] = u[8]&0x3f | 0x80 // variant
	text := make([]byte, 0, 36)
	for i, b := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, []byte{b})
	}
	return string(text)
}
