package dumplog

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strconv"

	"github.com/ottla/ottla/internal/base/metarec"
)

// readable is the JSON form of a coordinator's value in which the state of a
// transaction has its name and what members of a classic consumer group said
// is spelled out.
func readable(m metarec.Message, version int16) []byte {
	text := metarec.AppendJSON(nil, m, version)
	switch m := m.(type) {
	case *metarec.TransactionLogValue:
		// No text of a user stands before it.
		return replaceOnce(text, 0, `"transactionStatus":`+strconv.Itoa(int(m.TransactionStatus)), `"transactionStatus":"`+transactionStatus(m.TransactionStatus)+`"`)
	case *metarec.GroupMetadataValue:
		if m.ProtocolType == "consumer" {
			return spellOutMembers(text, m)
		}
	}
	return text
}

func transactionStatus(status int8) string {
	names := [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}
	if status >= 0 && int(status) < len(names) {
		return names[status]
	}
	return "Unknown(" + strconv.Itoa(int(status)) + ")"
}

// spellOutMembers replaces the base64 of each member's subscription and
// assignment. A quote inside a text is escaped, so that what is looked for
// cannot be found in the text of a user.
func spellOutMembers(text []byte, m *metarec.GroupMetadataValue) []byte {
	at := 0
	for i := range m.Members {
		member := &m.Members[i]
		for _, part := range []struct {
			name    string
			bytes   []byte
			message metarec.Message
		}{
			{"subscription", member.Subscription, metarec.NewConsumerProtocolSubscription()},
			{"assignment", member.Assignment, metarec.NewConsumerProtocolAssignment()},
		} {
			name := `"` + part.name + `":`
			coded := name + `"` + base64.StdEncoding.EncodeToString(part.bytes) + `"`
			found := bytes.Index(text[at:], []byte(coded))
			if found < 0 {
				return text
			}
			at += found
			plain, ok := embedded(part.message, part.bytes)
			if !ok {
				at += len(coded)
				continue
			}
			text = replaceOnce(text, at, coded, name+string(plain))
			at += len(name) + len(plain)
		}
	}
	return text
}

// embedded reads a message that travels inside a bytes field: int16 version,
// body. A member may speak a newer version, which begins like the last we
// know; it is left as it is.
func embedded(m metarec.Message, b []byte) ([]byte, bool) {
	if len(b) < 2 {
		return nil, false
	}
	version := int16(binary.BigEndian.Uint16(b))
	if m.ReadFrom(b[2:], version) != nil {
		return nil, false
	}
	return metarec.AppendJSON(nil, m, m.MaxVersion()), true
}

// replaceOnce replaces the first old at or behind at.
func replaceOnce(text []byte, at int, old, with string) []byte {
	found := bytes.Index(text[at:], []byte(old))
	if found < 0 {
		return text
	}
	at += found
	return append(append(bytes.Clone(text[:at]), with...), text[at+len(old):]...)
}
