package controller

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
	"github.com/ottla/ottla/internal/core/image"
)

// maxValueLength is the most characters a value may have.
const maxValueLength = 32_767

// ConfigOp is what to do with a key (KIP-339). The numbers are Kafka's.
type ConfigOp int8

// The operations on a key.
const (
	SetConfig      ConfigOp = 0
	DeleteConfig   ConfigOp = 1
	AppendConfig   ConfigOp = 2
	SubtractConfig ConfigOp = 3
)

// ConfigChange changes one key. A nil Value with SetConfig deletes it.
type ConfigChange struct {
	Op    ConfigOp
	Key   string
	Value *string
}

// ResourceChange changes the configuration of one resource.
type ResourceChange struct {
	Resource image.Resource
	Changes  []ConfigChange
}

func (r ResourceChange) names(key string) bool {
	return slices.ContainsFunc(r.Changes, func(c ConfigChange) bool { return c.Key == key })
}

// ConfigsToAlter is an IncrementalAlterConfigs request, or an AlterConfigs one.
type ConfigsToAlter struct {
	Resources    []ResourceChange
	ValidateOnly bool
	// Direct: the request did not come by way of a broker, which looks at the values
	// of brokers.
	Direct bool
}

// AlteredResource is the answer for one resource.
type AlteredResource struct {
	Resource image.Resource
	Err      error
}

// IncrementalAlterConfigs changes single keys (KIP-339). A resource is changed
// or refused as a whole; the good ones come in one batch.
func IncrementalAlterConfigs(img *image.Image, soft *Soft, want ConfigsToAlter) Decision[[]AlteredResource] {
	return alterConfigs(img, soft, want, func(stored map[string]string, r ResourceChange) error {
		for _, c := range r.Changes {
			if err := ApplyChange(soft.Keys, stored, r.Resource, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// AlterConfigs replaces the whole configuration of each resource: keys that are
// not named are deleted.
func AlterConfigs(img *image.Image, soft *Soft, want ConfigsToAlter) Decision[[]AlteredResource] {
	return alterConfigs(img, soft, want, func(stored map[string]string, r ResourceChange) error {
		clear(stored)
		for _, c := range r.Changes {
			if c.Value != nil {
				stored[c.Key] = *c.Value
			}
		}
		return nil
	})
}

func alterConfigs(
	img *image.Image, soft *Soft, want ConfigsToAlter, change func(map[string]string, ResourceChange) error,
) Decision[[]AlteredResource] {
	d := draftOn(img)
	if len(want.Resources) == 1 { // as most requests are: nothing to count
		r := want.Resources[0]
		replies := []AlteredResource{{r.Resource, d.alter(soft, r, want.Direct, change)}}
		return alteredConfigs(d, want, replies)
	}
	counts := map[image.Resource]int{}
	for _, r := range want.Resources {
		counts[r.Resource]++
	}
	replies := make([]AlteredResource, 0, len(want.Resources))
	for _, r := range want.Resources {
		n := counts[r.Resource]
		switch {
		case n == 0:
			continue // answered already
		case n > 1:
			counts[r.Resource] = 0
			replies = append(replies, AlteredResource{r.Resource, kerr.Errorf(kerr.InvalidRequest,
				"resource %v %q stands %d times in the request", r.Resource.Type, r.Resource.Name, n)})
		default:
			replies = append(replies, AlteredResource{r.Resource, d.alter(soft, r, want.Direct, change)})
		}
	}
	return alteredConfigs(d, want, replies)
}

// alteredConfigs finishes a decision about configurations.
func alteredConfigs(d *draft, want ConfigsToAlter, replies []AlteredResource) Decision[[]AlteredResource] {
	decided := bounded(atomically(d, replies))
	if want.ValidateOnly {
		decided.Records = nil
	}
	return decided
}

// alter checks what a resource's configuration would become and writes the
// difference.
func (d *draft) alter(soft *Soft, r ResourceChange, direct bool, change func(map[string]string, ResourceChange) error) error {
	stored := d.img.Config(r.Resource)
	next := maps.Collect(stored.All())
	if err := change(next, r); err != nil {
		return err
	}
	if err := checkLengths(next); err != nil {
		return err
	}
	if err := checkResource(d.img, soft, r.Resource, judged(soft.Keys, r.Resource.Type, stored, next)); err != nil {
		return err
	}
	if err := checkCordon(d.img, r.Resource, direct, stored, next); err != nil {
		return err
	}
	if err := checkElrConfig(d.img, r, stored, next); err != nil {
		return err
	}
	d.writeConfig(r, stored, next)
	return nil
}

// ApplyChange makes one change of a resource to what is stored for it.
func ApplyChange(keys Keys, stored map[string]string, r image.Resource, c ConfigChange) error {
	switch c.Op {
	case SetConfig, DeleteConfig:
		if c.Op == DeleteConfig || c.Value == nil {
			delete(stored, c.Key)
		} else {
			stored[c.Key] = *c.Value
		}
		return nil
	case AppendConfig, SubtractConfig:
	default:
		return kerr.Errorf(kerr.InvalidRequest, "operation %d on key %s does not exist", c.Op, c.Key)
	}
	standard, isList := keys.List(r.Type, c.Key)
	switch {
	case !isList:
		return kerr.Errorf(kerr.InvalidConfig, "key %s is not a list: it cannot be appended to or subtracted from", c.Key)
	case c.Value == nil:
		return kerr.Errorf(kerr.InvalidRequest, "key %s: a null value cannot be appended or subtracted", c.Key)
	}
	now, ok := stored[c.Key]
	if !ok {
		now = standard
	}
	stored[c.Key] = strings.Join(changeList(split(now), split(*c.Value), c.Op), ",")
	return nil
}

// changeList appends the items that are missing, or takes out all that match.
func changeList(now, items []string, op ConfigOp) []string {
	if op == SubtractConfig {
		return slices.DeleteFunc(now, func(s string) bool { return slices.Contains(items, s) })
	}
	for _, item := range items {
		if !slices.Contains(now, item) {
			now = append(now, item)
		}
	}
	return now
}

func split(list string) []string {
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// checkLengths finds the first key, by name, whose value is too long.
func checkLengths(values map[string]string) error {
	first, found := "", false
	for key, value := range values { // in any order: the least of all is told
		if len(value) > maxValueLength && utf8.RuneCountInString(value) > maxValueLength && (!found || key < first) {
			first, found = key, true
		}
	}
	if !found {
		return nil
	}
	return kerr.Errorf(kerr.InvalidConfig, "the value of key %s has %d characters, more than %d",
		first, utf8.RuneCountInString(values[first]), maxValueLength)
}

// checkResource tells whether the resource may have these values, and whether
// it exists.
func checkResource(img *image.Image, soft *Soft, r image.Resource, values map[string]string) error {
	switch r.Type {
	case image.TopicResource:
		if err := kafka.CheckTopicName(r.Name); err != nil {
			return kerr.Errorf(kerr.InvalidTopicException, "%v", err)
		}
		if _, ok := img.TopicNamed(r.Name); !ok {
			return kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q does not exist", r.Name)
		}
		return soft.Keys.Check(r, values)
	case image.BrokerResource:
		return checkBrokerResource(img, soft, r.Name)
	case image.GroupResource, image.ClientMetrics:
		if r.Name == "" {
			return kerr.Errorf(kerr.InvalidRequest, "the name of a %v resource must not be empty", r.Type)
		}
		return soft.Keys.Check(r, values)
	case image.BrokerLoggerResource:
		return kerr.Errorf(kerr.InvalidRequest, "log levels belong to a broker and are not stored: ask broker %q itself", r.Name)
	}
	return kerr.Errorf(kerr.InvalidRequest, "resource type %d does not exist", int8(r.Type))
}

// judged are the values to check: those that a newer release has left in the log, and
// nobody touches, are not ours to judge (KAFKA-19851).
func judged(keys Keys, t image.ResourceType, stored pmap.Map[string, string], next map[string]string) map[string]string {
	checked := next
	for key, old := range stored.All() {
		if value, has := next[key]; has && value == old && !keys.Known(t, key) {
			if len(checked) == len(next) { // there is seldom any: copied with the first
				checked = maps.Clone(next)
			}
			delete(checked, key)
		}
	}
	return checked
}

// checkBrokerResource looks only for the node. Values were checked by the
// broker that passed the request on.
func checkBrokerResource(img *image.Image, soft *Soft, name string) error {
	if name == "" {
		return nil
	}
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil || n < 0 {
		return kerr.Errorf(kerr.InvalidRequest, "broker name %q is not a node id", name)
	}
	id := kafka.NodeID(n)
	if _, ok := img.Broker(id); ok {
		return nil
	}
	if _, ok := img.Controller(id); ok || slices.Contains(soft.voters(), id) {
		return nil
	}
	return kerr.Errorf(kerr.BrokerIdNotRegistered, "node %d is not registered", id)
}

// checkElrConfig keeps min.insync.replicas in one place that all controllers
// know: the ELR rests on it (KAFKA-16540).
func checkElrConfig(img *image.Image, r ResourceChange, stored pmap.Map[string, string], next map[string]string) error {
	if !img.ElrEnabled() || r.Resource.Type != image.BrokerResource {
		return nil
	}
	_, had := stored.Get(minInsyncKey)
	_, has := next[minInsyncKey]
	switch {
	case r.Resource.Name != "" && (has || r.names(minInsyncKey)):
		return kerr.Errorf(kerr.InvalidConfig, "Broker-level %s cannot be altered while ELR is enabled.", minInsyncKey)
	case r.Resource.Name == "" && had && !has:
		return kerr.Errorf(kerr.InvalidConfig, "Cluster-level %s cannot be removed while ELR is enabled.", minInsyncKey)
	}
	return nil
}

// writeConfig writes values that changed. Those that a request names for a
// broker are written in any case: the record makes the broker load again what
// the value stands for, such as a key store (KAFKA-14136).
func (d *draft) writeConfig(r ResourceChange, stored pmap.Map[string, string], next map[string]string) {
	keys := make([]string, 0, len(next)+stored.Len())
	for key := range next { // in any order: sorted below
		keys = append(keys, key)
	}
	for key := range stored.All() {
		if _, stays := next[key]; !stays {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	minInsyncChanged := false
	for _, key := range keys {
		old, had := stored.Get(key)
		value, has := next[key]
		if had == has && old == value && !(r.Resource.Type == image.BrokerResource && r.names(key)) {
			continue
		}
		if has {
			d.add(image.ConfigRecord(r.Resource, key, &value))
		} else {
			d.add(image.ConfigRecord(r.Resource, key, nil))
		}
		minInsyncChanged = minInsyncChanged || key == minInsyncKey
	}
	if minInsyncChanged && d.img.ElrEnabled() {
		switch {
		case r.Resource.Type == image.TopicResource:
			d.add(&metarec.ClearElrRecord{TopicName: r.Resource.Name})
		case r.Resource == image.AllBrokers:
			d.add(&metarec.ClearElrRecord{})
		}
	}
}
