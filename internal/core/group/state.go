package group

// State is the state of a classic group.
type State int8

// The states, with Kafka's meaning.
const (
	// Empty has no members; it may hold offsets.
	Empty State = iota
	// PreparingRebalance waits for members to join the next generation.
	PreparingRebalance
	// CompletingRebalance waits for the leader's assignment to be durable.
	CompletingRebalance
	// Stable has members with assignments.
	Stable
	// Dead is being deleted: its tombstones are on their way to the log.
	Dead
)

// String is the name that ListGroups and DescribeGroups show.
func (s State) String() string {
	switch s {
	case Empty:
		return "Empty"
	case PreparingRebalance:
		return "PreparingRebalance"
	case CompletingRebalance:
		return "CompletingRebalance"
	case Stable:
		return "Stable"
	}
	return "Dead"
}

// Type is the kind of a group. Only Classic groups are served; the other kinds
// are known from records that another Kafka node wrote, and kept apart.
type Type int8

// The kinds of groups.
const (
	Classic  Type = iota
	Consumer      // KIP-848
	Share         // KIP-932
	Streams       // KIP-1071
)

// String is the name that ListGroups shows.
func (t Type) String() string {
	switch t {
	case Consumer:
		return "consumer"
	case Share:
		return "share"
	case Streams:
		return "streams"
	}
	return "classic"
}
