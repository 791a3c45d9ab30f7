package kafka

import (
	"bytes"
	"encoding/base64"
	"fmt"
)

// UUID is a 16 byte id. Its text is URL-safe base64 without padding, 22
// characters, as in Kafka's files and messages.
type UUID [16]byte

// TopicID is the id of a topic; it outlives none of its topic's re-creations.
type TopicID = UUID

// DirID is the id of a log directory (KIP-858).
type DirID = UUID

// Reserved directory ids (KIP-858).
var (
	// DirMigrating marks a replica whose directory was chosen before metadata
	// knew directories.
	DirMigrating = DirID{}
	// DirUnassigned marks a replica that no broker has placed yet.
	DirUnassigned = DirID{15: 1}
	// DirLost marks a replica whose directory is offline or gone.
	DirLost = DirID{15: 2}
)

// MetadataTopicID is the id of __cluster_metadata.
var MetadataTopicID = TopicID{15: 1}

// IsZero tells whether u is the all-zero id, which means "none".
func (u UUID) IsZero() bool { return u == UUID{} }

// Reserved tells whether u is one of the 100 lowest ids, which Kafka never
// gives to a topic or a directory.
func (u UUID) Reserved() bool {
	return bytes.Equal(u[:15], make([]byte, 15)) && u[15] < 100
}

// Compare orders ids by their bytes.
func (u UUID) Compare(o UUID) int { return bytes.Compare(u[:], o[:]) }

func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// MarshalText writes the 22 character form.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the 22 character form.
func (u *UUID) UnmarshalText(b []byte) error {
	parsed, err := ParseUUID(string(b))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}

// ParseUUID reads the 22 character form; padding is accepted.
func ParseUUID(s string) (UUID, error) {
	for len(s) > 0 && s[len(s)-1] == '=' {
		s = s[:len(s)-1]
	}
	var u UUID
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) != len(u) {
		return u, fmt.Errorf("%q is not an id: want 22 characters of URL-safe base64", s)
	}
	copy(u[:], raw)
	return u, nil
}
