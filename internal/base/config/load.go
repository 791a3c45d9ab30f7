package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Options are what a reader of settings may ask of Load.
type Options struct {
	// IgnoreUnsupported names keys that may stay without effect although the
	// node is less secure or less durable for it.
	IgnoreUnsupported []string
	// Offline is for tools that only need to know what the file says: no key is
	// refused or warned about for having no effect in a running node.
	Offline bool
}

// Warning is something a person should know before the node runs.
type Warning struct {
	Key  string // what it is about
	Text string // one line
}

// Faults is everything that is wrong with a file, found in one go. Its text has
// one line for each, with file, line, key and what is allowed.
type Faults []string

func (f Faults) Error() string { return strings.Join(f, "\n") }

// Load reads a properties file, puts the overrides ("key=value") on top and
// checks it all: every value against its key, and the rules between keys that
// Kafka has for the roles of the node. The error is Faults, or says that the
// file cannot be read.
func Load(file string, overrides []string, opt Options) (*Config, []Warning, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return Parse(file, data, overrides, opt)
}

// Parse is Load for the bytes of a file; its name stands in messages only.
func Parse(name string, data []byte, overrides []string, opt Options) (*Config, []Warning, error) {
	l := loading{file: name, opt: opt, config: &Config{set: map[string]string{}}, lines: map[string]int{}, unreadable: map[string]bool{}}
	if err := l.read(data, overrides); err != nil {
		return nil, nil, Faults{fmt.Sprintf("%s: not a properties file: %v", name, err)}
	}
	l.checkValues()
	l.checkNode()
	l.checkRelations()
	if !opt.Offline {
		l.checkUse()
	}
	if len(l.faults) > 0 {
		return nil, l.warnings, l.faults
	}
	return l.config, l.warnings, nil
}

// loading is a file on its way to becoming a Config.
type loading struct {
	file   string
	opt    Options
	config *Config
	lines  map[string]int // where a key was set; 0 is an override
	// unreadable are the keys whose value is not one of theirs, and those that
	// are missing. No rule may read them: see readable.
	unreadable map[string]bool
	faults     Faults
	warnings   []Warning
}

// read collects what is set; a later line wins over an earlier one, and an
// override over both.
func (l *loading) read(data []byte, overrides []string) error {
	settings, err := parseProperties(data)
	if err != nil {
		return err
	}
	for _, p := range settings {
		before, twice := l.lines[p.key]
		twice = twice && l.config.set[p.key] != p.value
		if l.put(p); twice {
			l.warn(p.key, "is set on line %d and again on line %d, which counts", before, p.line)
		}
	}
	for _, text := range overrides {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			l.faults = append(l.faults, fmt.Sprintf("--override %q is not of the form key=value", text))
			continue
		}
		l.put(property{strings.TrimSpace(key), value, 0})
	}
	return nil
}

func (l *loading) put(p property) {
	l.config.set[p.key] = p.value
	l.lines[p.key] = p.line
}

// place is where a key got its value, as the start of a message; empty where there is
// no file.
func (l *loading) place(key string) string {
	switch line, set := l.lines[key]; {
	case !set:
		return l.file
	case line == 0:
		return "--override"
	default:
		return fmt.Sprintf("%s:%d", l.file, line)
	}
}

// fault notes that something about a key ends the start.
func (l *loading) fault(key, format string, args ...any) {
	text := key + ": " + fmt.Sprintf(format, args...)
	if place := l.place(key); place != "" {
		text = place + ": " + text
	}
	l.faults = append(l.faults, text)
}

func (l *loading) warn(key, format string, args ...any) {
	text := fmt.Sprintf("%s: %s: %s", l.place(key), key, fmt.Sprintf(format, args...))
	l.warnings = append(l.warnings, Warning{Key: key, Text: text})
}

// readable tells whether all keys of a rule have values that can be read. One
// that has not was told already, and to hold others against it would only tell
// of faults that go away with it.
func (l *loading) readable(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return l.unreadable[key] })
}

// keys are the keys that were set, in the order of their lines, overrides last.
func (l *loading) keys() []string {
	return slices.SortedFunc(maps.Keys(l.config.set), func(a, b string) int {
		if la, lb := l.order(a), l.order(b); la != lb {
			return la - lb
		}
		return strings.Compare(a, b)
	})
}

func (l *loading) order(key string) int {
	if line := l.lines[key]; line > 0 {
		return line
	}
	return len(l.lines) + 1<<30
}

// checkValues holds every value that was set against its key, and asks for
// those a file must have.
func (l *loading) checkValues() {
	for _, name := range l.keys() {
		if k := lookupPrefixed(name); k != nil {
			if err := k.Check(l.config.set[name]); err != nil {
				l.fault(name, "%v (allowed: %s)", err, k.Allowed())
				l.unreadable[name] = true
			}
		}
	}
	for i := range brokerKeys {
		k := &brokerKeys[i]
		if k.Default == Required && !l.config.Has(k.Name) && !(k.Name == "node.id" && l.config.Has("broker.id")) {
			l.fault(k.Name, "is missing and has no default (allowed: %s)", k.Allowed())
			l.unreadable[k.Name] = true
		}
	}
}

// lookupPrefixed finds the key behind a name that may stand under
// listener.name.<listener>. and there under <mechanism>. .
func lookupPrefixed(name string) *Key {
	if k := Lookup(name); k != nil {
		return k
	}
	rest, prefixed := strings.CutPrefix(name, "listener.name.")
	for prefixed {
		if _, rest, prefixed = strings.Cut(rest, "."); prefixed {
			if k := Lookup(rest); k != nil {
				return k
			}
		}
	}
	return nil
}
