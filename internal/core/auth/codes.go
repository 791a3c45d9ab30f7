package auth

// Operation is what somebody wants to do, by Kafka's number.
type Operation int8

// The operations. AnyOperation stands in filters only, AllOperations in rules.
const (
	AnyOperation    Operation = 1
	AllOperations   Operation = 2
	Read            Operation = 3
	Write           Operation = 4
	Create          Operation = 5
	Delete          Operation = 6
	Alter           Operation = 7
	Describe        Operation = 8
	ClusterAction   Operation = 9
	DescribeConfigs Operation = 10
	AlterConfigs    Operation = 11
	IdempotentWrite Operation = 12
	CreateTokens    Operation = 13
	DescribeTokens  Operation = 14
	TwoPhaseCommit  Operation = 15
)

// Known tells whether there is such an operation.
func (o Operation) Known() bool { return AnyOperation <= o && o <= TwoPhaseCommit }

// Kind is the type of a resource, by Kafka's number.
type Kind int8

// The types of resources. AnyKind stands in filters only.
const (
	AnyKind         Kind = 1
	Topic           Kind = 2
	Group           Kind = 3
	Cluster         Kind = 4
	TransactionalID Kind = 5
	DelegationToken Kind = 6
	User            Kind = 7
)

// Known tells whether there is such a type.
func (k Kind) Known() bool { return AnyKind <= k && k <= User }

// ClusterName is the name of the only resource of type Cluster.
const ClusterName = "kafka-cluster"

// Pattern says how the name of a rule's resource is meant, by Kafka's number.
type Pattern int8

// The patterns. AnyPattern and Match stand in filters only.
const (
	AnyPattern Pattern = 1
	Match      Pattern = 2 // every rule that a resource of this name falls under
	Literal    Pattern = 3
	Prefixed   Pattern = 4
)

// Known tells whether there is such a pattern.
func (p Pattern) Known() bool { return AnyPattern <= p && p <= Prefixed }

// Permission says which way a rule decides, by Kafka's number.
type Permission int8

// The permissions. AnyPermission stands in filters only.
const (
	AnyPermission Permission = 1
	Deny          Permission = 2
	Allow         Permission = 3
)

// Known tells whether there is such a permission.
func (p Permission) Known() bool { return AnyPermission <= p && p <= Allow }

// wildcard is every name, every host, and in "User:*" every user.
const wildcard = "*"
