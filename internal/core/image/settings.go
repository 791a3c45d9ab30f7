package image

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// ResourceType is Kafka's number for what a configuration belongs to.
type ResourceType int8

// The resource types that have configurations.
const (
	TopicResource        ResourceType = 2
	BrokerResource       ResourceType = 4
	BrokerLoggerResource ResourceType = 8
	ClientMetrics        ResourceType = 16
	GroupResource        ResourceType = 32
)

// String is Kafka's name of the type.
func (t ResourceType) String() string {
	switch t {
	case TopicResource:
		return "TOPIC"
	case BrokerResource:
		return "BROKER"
	case BrokerLoggerResource:
		return "BROKER_LOGGER"
	case ClientMetrics:
		return "CLIENT_METRICS"
	case GroupResource:
		return "GROUP"
	}
	return "UNKNOWN(" + strconv.Itoa(int(t)) + ")"
}

// Resource is what a configuration belongs to. A broker resource without name
// holds the defaults of all brokers.
type Resource struct {
	Type ResourceType
	Name string
}

// TopicOf is the resource of a topic's configuration.
func TopicOf(name string) Resource { return Resource{TopicResource, name} }

// BrokerOf is the resource of one broker's configuration.
func BrokerOf(id kafka.NodeID) Resource {
	return Resource{BrokerResource, strconv.Itoa(int(id))}
}

// AllBrokers is the resource of the cluster-wide broker defaults.
var AllBrokers = Resource{Type: BrokerResource}

func compareResources(a, b Resource) int {
	if c := cmp.Compare(a.Type, b.Type); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// EntityPart names one side of what a client quota binds: a type (user,
// client-id or ip) and a name, nil for the default.
type EntityPart struct {
	Type string
	Name *string
}

// Entity is what a client quota binds: its parts in the order of their types.
type Entity []EntityPart

// String names the parts as Kafka's messages do, for example "client-id=c, user=u".
func (e Entity) String() string {
	var parts []string
	for _, part := range e {
		name := "null"
		if part.Name != nil {
			name = *part.Name
		}
		parts = append(parts, part.Type+"="+name)
	}
	return strings.Join(parts, ", ")
}

func compareEntities(a, b Entity) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Or(cmp.Compare(a[i].Type, b[i].Type), compareNullable(a[i].Name, b[i].Name)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareNullable orders nil before every text.
func compareNullable(a, b *string) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

// ACL is one access control entry. Its numbers are Kafka's.
type ACL struct {
	ID           kafka.UUID
	ResourceType int8
	ResourceName string
	PatternType  int8
	Principal    string
	Host         string
	Operation    int8
	Permission   int8
}

// ScramKey names a SCRAM credential: 1 is SCRAM-SHA-256, 2 SCRAM-SHA-512.
type ScramKey struct {
	Mechanism int8
	User      string
}

func compareScram(a, b ScramKey) int {
	return cmp.Or(cmp.Compare(a.Mechanism, b.Mechanism), cmp.Compare(a.User, b.User))
}

// Scram is a SCRAM credential; the salted password itself is never kept.
type Scram struct {
	Salt, StoredKey, ServerKey []byte
	Iterations                 int32
}

// Token is a delegation token. Principals are "Type:Name", times milliseconds
// since 1970.
type Token struct {
	ID                                 string
	Owner, Requester                   string
	Renewers                           []string
	IssuedMs, MaxTimestampMs, ExpiryMs int64
}
