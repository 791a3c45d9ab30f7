package config

import (
	"fmt"
	"strconv"
	"time"
)

// Config is one node's settings: what its file and command line say over the
// defaults of the table. It never changes after it was made.
type Config struct {
	set  map[string]string // the values given, by key; checked
	node *Node             // nil unless Load made it
}

// New makes a configuration of values that are checked one by one; rules
// between keys are Load's. It serves tests and embedded nodes.
func New(values map[string]string) (*Config, error) {
	c := &Config{set: make(map[string]string, len(values))}
	for name, value := range values {
		if k := Lookup(name); k != nil {
			if err := k.Check(value); err != nil {
				return nil, err
			}
		}
		c.set[name] = value
	}
	return c, nil
}

// Has tells whether the key was set, be it to its default.
func (c *Config) Has(name string) bool {
	_, set := c.text(name)
	return set
}

// text is the value given to a key.
func (c *Config) text(name string) (string, bool) {
	text, set := c.set[name]
	return text, set
}

// value is the text that counts for a key: what was given, else the default;
// "" where there is neither.
func (c *Config) value(name string) string {
	k := Lookup(name)
	if k == nil {
		panic(fmt.Sprintf("config: %q is not in the table", name))
	}
	if text, set := c.text(name); set {
		return text
	}
	if k.HasDefault() {
		return k.Default
	}
	return ""
}

// Value is the text that counts for a key, and whether there is any.
func (c *Config) Value(name string) (string, bool) {
	text := c.value(name)
	return text, c.Has(name) || Lookup(name).HasDefault()
}

// The getters panic on a key that is not in the table; that is a mistake of
// the program, not of a file.

// String is the value of a key of any type, without the blanks around it.
func (c *Config) String(name string) string { return trim(c.value(name)) }

// Int is the value of a key with a whole number; 0 when it is unset and has no
// default.
func (c *Config) Int(name string) int64 {
	text := trim(c.value(name))
	if text == "" {
		return 0
	}
	return number(text)
}

// Duration is the value of a key whose name ends in its unit: .ms, .seconds,
// .minutes or .hours.
func (c *Config) Duration(name string) time.Duration {
	return saturated(c.Int(name), unitOf(name))
}

// Double is the value of a key with a fraction.
func (c *Config) Double(name string) float64 {
	f, err := parseDouble(trim(c.value(name)))
	if err != nil {
		panic("config: unchecked value " + strconv.Quote(c.value(name)))
	}
	return f
}

// Bool is the value of a key that is true or false.
func (c *Config) Bool(name string) bool {
	on, _ := parseBool(trim(c.value(name)))
	return on
}

// List is the value of a key with a list, without doubles; nil when it is empty.
func (c *Config) List(name string) []string { return withoutDoubles(splitList(c.value(name))) }
