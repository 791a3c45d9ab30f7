package group

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Protocol is one way of assignment that a member supports, with the bytes its
// leader will read. The bytes are opaque here.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Join asks to become a member or to stay one in the next generation. The
// shard keeps the byte slices.
type Join struct {
	Call
	MemberID         string // "" for a member that has none yet
	InstanceID       string // "" for a dynamic member (KIP-345)
	ClientID         string
	ClientHost       string
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration
	ProtocolType     string
	Protocols        []Protocol // in order of preference
	NeedsID          bool       // hand out an id first (KIP-394, version 4 and later)
	CanSkip          bool       // understands SkipAssignment (KIP-814, version 9 and later)

	Reply JoinReply
}

// JoinReply is the answer to a Join. After an error only MemberID has meaning.
type JoinReply struct {
	Generation     int32 // -1 after an error
	ProtocolType   string
	Protocol       string
	Leader         string
	MemberID       string
	SkipAssignment bool
	Members        []JoinMember // all members, for the leader only
}

// JoinMember is a member as its leader sees it.
type JoinMember struct {
	ID         string
	InstanceID string
	Metadata   []byte
}

// Assignment is what a leader gives to a member. The bytes are opaque here.
type Assignment struct {
	MemberID string
	Bytes    []byte
}

// Sync asks for the member's assignment; the leader's brings all of them. The
// shard keeps the byte slices.
type Sync struct {
	Call
	Member
	ProtocolType *string // nil: not checked (before version 5)
	Protocol     *string // nil: not checked
	Assignments  []Assignment

	Reply SyncReply
}

// SyncReply is the answer to a Sync.
type SyncReply struct {
	ProtocolType string
	Protocol     string
	Assignment   []byte
}

// Member names a member in a generation.
type Member struct {
	MemberID   string
	InstanceID string // "": none given
	Generation int32
}

// Heartbeat renews a member's session.
type Heartbeat struct {
	Call
	Member
}

// Leave removes members. Err of the call stays None when the group is unknown;
// each member then has UNKNOWN_MEMBER_ID.
type Leave struct {
	Call
	Members []LeavingMember
}

// LeavingMember names a member that leaves. An instance id without member id
// is an administrator's removal.
type LeavingMember struct {
	MemberID   string
	InstanceID string
	Err        kerr.Code // set by the answer
}

// CommitOffsets stores offsets. A commit with an empty member id and
// generation -1 comes from outside a group's membership.
type CommitOffsets struct {
	Call
	Member
	// UnknownGroup is the error when a generation is given and the group does
	// not exist: GROUP_ID_NOT_FOUND from version 9, before ILLEGAL_GENERATION.
	UnknownGroup kerr.Code
	Retention    time.Duration // asked for by versions 2 to 4; negative: the broker's
	Offsets      []CommitOffset
}

// CommitOffset is the commit for one partition.
type CommitOffset struct {
	kafka.TopicPartition
	TopicID     kafka.TopicID // what the topic of that name is called now; zero: not known
	Offset      kafka.Offset
	LeaderEpoch kafka.Epoch // -1: not known
	Metadata    string
	Err         kerr.Code // set by the answer
}

// FetchOffsets reads committed offsets.
type FetchOffsets struct {
	Call
	All     bool // all partitions that the group has; the answer fills Offsets, sorted
	Offsets []FetchOffset
	// Stable asks to see no offset that a transaction may still replace
	// (KIP-447); such a partition has UNSTABLE_OFFSET_COMMIT.
	Stable bool
	// Current gives the id that a topic of that name has now, zero where that is
	// not known. What was committed for another topic of the name is not shown.
	// Nil: nothing is known.
	Current func(name string) kafka.TopicID
}

// FetchOffset is the committed offset of one partition; Offset is -1 where
// there is none.
type FetchOffset struct {
	kafka.TopicPartition
	Offset      kafka.Offset
	LeaderEpoch kafka.Epoch
	Metadata    string
	Err         kerr.Code
}

// DeleteOffsets removes committed offsets of topics nobody in the group is
// subscribed to (KIP-496).
type DeleteOffsets struct {
	Call
	Offsets []DeleteOffset
}

// DeleteOffset names a partition whose offset goes.
type DeleteOffset struct {
	kafka.TopicPartition
	Err kerr.Code // set by the answer
}

// Delete removes a group that has no members, with its offsets.
type Delete struct{ Call }

// Describe shows a group with its members. GROUP_ID_NOT_FOUND when there is
// none of the classic type.
type Describe struct {
	Call
	Reply Description
}

// Description is a group as DescribeGroups shows it.
type Description struct {
	State        State
	ProtocolType string
	Protocol     string
	Members      []DescribedMember
}

// DescribedMember is a member; Metadata is empty unless the group is stable.
type DescribedMember struct {
	ID, InstanceID       string
	ClientID, ClientHost string
	Metadata, Assignment []byte
}

// List shows all groups of the shard, sorted by id. Call.Group is not used.
type List struct {
	Call
	Groups []Listed
}

// Listed is one group of a list.
type Listed struct {
	ID           string
	ProtocolType string
	State        State
	Type         Type
}
