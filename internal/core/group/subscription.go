package group

import "encoding/binary"

// consumerProtocolType is the protocol type of Kafka's consumers; only its
// metadata is ever looked into.
const consumerProtocolType = "consumer"

// subscribedTopics adds the topics of a consumer's subscription to a set. It is
// false when the bytes are no subscription; the set is then of no use.
//
//	int16 version  >= 0
//	int32 count
//	  int16 length, topic
//	...            user data and what later versions add
func subscribedTopics(metadata []byte, into map[string]struct{}) bool {
	if len(metadata) < 6 || int16(binary.BigEndian.Uint16(metadata)) < 0 {
		return false
	}
	count := int32(binary.BigEndian.Uint32(metadata[2:]))
	rest := metadata[6:]
	if count < 0 || int(count) > len(rest)/2 {
		return false
	}
	for range count {
		if len(rest) < 2 {
			return false
		}
		n := int(int16(binary.BigEndian.Uint16(rest)))
		if n < 0 || n > len(rest)-2 {
			return false
		}
		into[string(rest[2:2+n])] = struct{}{}
		rest = rest[2+n:]
	}
	return true
}
