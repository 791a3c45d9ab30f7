package kafka

import "fmt"

// Names of Kafka's own topics.
const (
	MetadataTopic           = "__cluster_metadata"
	ConsumerOffsetsTopic    = "__consumer_offsets"
	TransactionStateTopic   = "__transaction_state"
	ShareGroupStateTopic    = "__share_group_state"
	RemoteLogMetadataTopic  = "__remote_log_metadata"
	MaxTopicNameLength      = 249
	legalTopicNameSyllables = "ASCII letters, digits, '.', '_' and '-'"
)

// MetadataPartition is the one partition of the metadata log.
var MetadataPartition = TopicPartition{Topic: MetadataTopic}

// IsInternal tells whether a topic is one that Kafka keeps for itself and
// clients may not produce to or delete records from.
func IsInternal(topic string) bool {
	switch topic {
	case ConsumerOffsetsTopic, TransactionStateTopic, ShareGroupStateTopic:
		return true
	}
	return false
}

// CheckTopicName tells why a name cannot be a topic's, or returns nil.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("topic name is empty")
	case name == "." || name == "..":
		return fmt.Errorf("topic name %q is not allowed", name)
	case len(name) > MaxTopicNameLength:
		return fmt.Errorf("topic name has %d characters, more than %d", len(name), MaxTopicNameLength)
	}
	for _, c := range []byte(name) {
		ok := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
		if !ok {
			return fmt.Errorf("topic name %q may only hold %s", name, legalTopicNameSyllables)
		}
	}
	return nil
}
