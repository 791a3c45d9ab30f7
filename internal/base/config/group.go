package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
)

// CheckGroupConfig tells why a group cannot have these settings on nodes with a file:
// the error is kerr.InvalidConfig with Kafka's message. What a group sets must lie
// between the bounds that the brokers' settings give it; what it does not set it has
// from them.
func CheckGroupConfig(values map[string]string, brokers *Config) error {
	g := groupConfig{values, brokers}
	for _, name := range slices.Sorted(maps.Keys(values)) { // of several errors always the same one is told
		k := LookupGroup(name)
		if k == nil {
			return kerr.Errorf(kerr.InvalidConfig, "Unknown group config name: %s", name)
		}
		if err := k.Check(values[name]); err != nil {
			return kerr.Errorf(kerr.InvalidConfig, "%s", err.Error())
		}
		if why := g.check(k, strings.TrimSpace(values[name])); why != "" {
			return kerr.Errorf(kerr.InvalidConfig, "%s", why)
		}
	}
	for _, kind := range [...]string{"consumer", "share", "streams"} {
		session, beat := kind+".session.timeout.ms", kind+".heartbeat.interval.ms"
		if g.number(session) <= g.number(beat) {
			return kerr.Errorf(kerr.InvalidConfig, "%s must be greater than %s", session, beat)
		}
	}
	return nil
}

// groupConfig is a group's settings over those of the brokers.
type groupConfig struct {
	values  map[string]string
	brokers *Config
}

// number is what counts for a group, which stands as group.<key> with the brokers.
func (g groupConfig) number(key string) int64 {
	if text, ok := g.values[key]; ok {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
			return n
		}
	}
	return g.brokers.Int("group." + key)
}

// check says what is wrong with a value of the right type; empty: nothing.
func (g groupConfig) check(k *Key, value string) string {
	switch k.Name {
	case "share.auto.offset.reset":
		if value != "earliest" && value != "latest" && !byDuration(value) {
			return (&valueError{k, value, "Invalid value `" + value + "` for configuration " + k.Name +
				". The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."}).Error()
		}
	case "errors.deadletterqueue.topic.name":
		if strings.HasPrefix(value, "__") {
			return k.Name + ": DLQ topic name must not start with '__'"
		}
	case "streams.assignor.name":
		if known := g.brokers.List("group.streams.assignors"); !slices.Contains(known, value) {
			return k.Name + " '" + value + "' is not a registered task assignor. Registered assignors are: [" + strings.Join(known, ", ") + "]."
		}
	case "streams.rack.aware.assignment.tags":
		if tags := splitList(value); len(withoutDoubles(tags)) < len(tags) {
			return k.Name + " must not contain duplicate tag keys."
		}
	default:
		return g.bounded(k.Name)
	}
	return ""
}

// bounded holds a number against the least and the most that brokers have for it.
func (g groupConfig) bounded(name string) string {
	kind, rest, _ := strings.Cut(name, ".")
	rest = strings.TrimPrefix(rest, "num.") // the bounds of numbers of replicas
	least, most := "group."+kind+".min."+rest, "group."+kind+".max."+rest
	low, high := Lookup(least) != nil, Lookup(most) != nil
	if !low && !high {
		return ""
	}
	n := g.number(name)
	switch {
	case low && high && (n < g.brokers.Int(least) || n > g.brokers.Int(most)):
		return name + " must be in the range " + g.brokers.text10(least) + " to " + g.brokers.text10(most) + " inclusive."
	case low && n < g.brokers.Int(least):
		return name + " must be greater than or equal to " + g.brokers.text10(least)
	case high && n > g.brokers.Int(most):
		return name + " must be less than or equal to " + g.brokers.text10(most)
	}
	return ""
}

// text10 is a number in decimal.
func (c *Config) text10(key string) string { return strconv.FormatInt(c.Int(key), 10) }

// duration is the form of ISO 8601 that Java's Duration reads.
var duration = regexp.MustCompile(`(?i)^([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?$`)

// byDuration tells whether a text is by_duration: with a duration that is not negative.
func byDuration(value string) bool {
	text, ok := strings.CutPrefix(value, "by_duration:")
	parts := duration.FindStringSubmatch(text)
	if !ok || parts == nil || strings.EqualFold(parts[3], "T") || parts[2] == "" && parts[3] == "" {
		return false
	}
	seconds := 0.0
	for i, unit := range map[int]float64{2: 86_400, 4: 3_600, 5: 60, 6: 1} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil && parts[i] != "" {
			return false
		}
		seconds += float64(n) * unit
	}
	if parts[1] == "-" {
		seconds = -seconds
	}
	return seconds >= 0
}
