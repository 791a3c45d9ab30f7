package quota

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Replicas are those of one topic that are throttled on one broker. The zero value
// is none.
type Replicas struct {
	all    bool
	listed []kafka.PartitionID // in order, each once
}

// ParseReplicas reads the value of leader.replication.throttled.replicas or
// follower.replication.throttled.replicas: "*" for all, or pairs partition:broker, of
// which those of the broker count. A value that is not of that form lists none: the
// metadata log may hold what nobody here has checked.
func ParseReplicas(value string, broker kafka.NodeID) (r Replicas) {
	value = strings.TrimSpace(value)
	switch value {
	case "":
		return Replicas{}
	case "*":
		return Replicas{all: true}
	}
	if !r.readPlain(value, broker) && !r.read(value, broker) {
		return Replicas{}
	}
	slices.Sort(r.listed)
	r.listed = slices.Clip(slices.Compact(r.listed))
	return r
}

// readPlain takes a list in which nothing stands but pairs, without blanks, of numbers of
// at most nine digits; false, and nothing is taken, if it is another one. Nearly every
// list is so, it may be long, and each broker reads it whenever it changes.
func (r *Replicas) readPlain(list string, broker kafka.NodeID) bool {
	number, size, partition, second := 0, 0, 0, false // second: number is a broker
	for i := 0; i <= len(list); i++ {
		c := byte(',') // ends the last pair, too
		if i < len(list) {
			c = list[i]
		}
		switch {
		case '0' <= c && c <= '9' && size < 9:
			number, size = 10*number+int(c-'0'), size+1
			continue
		case c == ':' && size > 0 && !second:
			partition = number
		case c == ',' && size > 0 && second:
			if kafka.NodeID(number) == broker {
				r.listed = append(r.listed, kafka.PartitionID(partition))
			}
		default:
			r.listed = nil
			return false
		}
		number, size, second = 0, 0, c == ':'
	}
	return true
}

// read takes any list.
func (r *Replicas) read(list string, broker kafka.NodeID) bool {
	for pair := range strings.SplitSeq(list, ",") {
		partition, node, ok := parsePair(pair)
		if !ok {
			return false
		}
		if node == broker {
			r.listed = append(r.listed, partition)
		}
	}
	return true
}

func parsePair(pair string) (kafka.PartitionID, kafka.NodeID, bool) {
	partition, node, _ := strings.Cut(strings.TrimSpace(pair), ":")
	p, err := strconv.ParseUint(partition, 10, 31)
	if err != nil {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(node, 10, 31)
	return kafka.PartitionID(p), kafka.NodeID(n), err == nil
}

// None tells whether no replica is throttled.
func (r Replicas) None() bool { return !r.all && len(r.listed) == 0 }

// Has tells whether the replica of a partition is throttled.
func (r Replicas) Has(p kafka.PartitionID) bool {
	if r.all {
		return true
	}
	_, found := slices.BinarySearch(r.listed, p)
	return found
}
