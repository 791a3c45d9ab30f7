package config

// Type is the type of a key's value, with the numbers DescribeConfigs uses.
type Type int8

// The types of Kafka's settings.
const (
	Bool     Type = 1
	Str      Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

var typeNames = [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}

// String is Kafka's name of the type.
func (t Type) String() string { return typeNames[t] }

// Importance is how much a key matters to most users.
type Importance int8

// The importances of Kafka's settings.
const (
	High Importance = iota
	Medium
	Low
)

// String is the importance in lower case.
func (i Importance) String() string { return [...]string{"high", "medium", "low"}[i] }

// Scope tells where a broker's key can be changed while it runs.
type Scope int8

// The scopes of a broker's keys.
const (
	Static     Scope = iota // by a restart only
	PerBroker               // for one broker
	Cluster                 // for one broker or as the cluster's default
	DynamicKey              // like Cluster, and not in the properties file at all
)

// String names the scope in words.
func (s Scope) String() string {
	return [...]string{"static", "per broker", "cluster-wide", "cluster-wide, dynamic only"}[s]
}

// Use tells what this node does about a key that it knows.
type Use int8

// The uses of a key.
const (
	Used         Use = iota // has its full effect
	Unused                  // accepted with a warning: it changes nothing here
	Refused                 // any value but the default ends the start, and is refused at run time: without it the node would be less secure or less durable than the file says
	ByController            // Used on a node that is nothing but a controller, Refused on any other
)

// String names the use in words.
func (u Use) String() string {
	return [...]string{"used", "accepted, no effect", "refused", "used by controllers, refused on brokers"}[u]
}

// Marks of a key.
type Mark uint8

// The marks of a key.
const (
	Internal   Mark = 1 << iota // not for users; hidden from the reference
	ByListener                  // may stand under listener.name.<listener>.
	BySASL                      // may stand under listener.name.<listener>.<mechanism>.
	NeedPrefix                  // changed at run time only under a listener's prefix
	Own                         // ours, unknown to Apache Kafka
	AtStart                     // Kafka lets it be changed at run time; we read it at the start only, and refuse the change
)

// Null is the default of keys that are unset unless the file sets them, and
// Required that of keys a file must set. Neither can be written in a file.
const (
	Null     = "\x00null"
	Required = "\x00required"
)

// Key is one setting: a row of the table.
type Key struct {
	Name    string
	Type    Type
	Default string // in the text form of a properties file, or Null or Required
	// Valid bounds the value: "1.." and "0..1" are ranges with their ends
	// included, "1..9|-1" adds one value, "a b c" lists what is allowed (in any
	// case behind a leading "~"), "+" asks for something that is not empty, and
	// "" takes whatever the type can hold.
	Valid      string
	Importance Importance
	Scope      Scope
	Marks      Mark
	Use        Use
	Doc        string // one line, a sentence without its period
}

// Has tells whether the key carries a mark.
func (k *Key) Has(m Mark) bool { return k.Marks&m != 0 }

// Changeable tells whether a change at run time can be taken from anybody.
func (k *Key) Changeable() bool { return k.Scope != Static && !k.Has(AtStart) }

// Sensitive tells whether the value must not be shown.
func (k *Key) Sensitive() bool { return k.Type == Password }

// HasDefault tells whether the key has a value of its own when unset.
func (k *Key) HasDefault() bool { return k.Default != Null && k.Default != Required }

// Lookup finds a broker's key by name in the table, or nil.
func Lookup(name string) *Key { return find(brokerKeys, name) }

// Keys are all keys of a broker's or controller's properties file, by name.
func Keys() []Key { return brokerKeys }

// TopicKeys are all keys a topic can override, by name.
func TopicKeys() []Key { return topicKeys }

// LookupTopic finds a topic's key by name, or nil.
func LookupTopic(name string) *Key { return find(topicKeys, name) }

// GroupKeys are all keys of a group, by name.
func GroupKeys() []Key { return groupKeys }

// LookupGroup finds a group's key by name, or nil.
func LookupGroup(name string) *Key { return find(groupKeys, name) }

// find searches a table, which is sorted by name.
func find(table []Key, name string) *Key {
	lo, hi := 0, len(table)
	for lo < hi {
		if mid := (lo + hi) / 2; table[mid].Name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(table) && table[lo].Name == name {
		return &table[lo]
	}
	return nil
}
