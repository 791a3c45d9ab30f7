package config

import (
	"slices"
	"strings"
)

// checkUse tells what the node will not do: a warning where the cluster only
// works otherwise than the file hopes, a fault where it would be less secure or
// less durable than the file says.
func (l *loading) checkUse() {
	for _, name := range l.keys() {
		k := lookupPrefixed(name)
		if k == nil {
			l.warnUnknown(name)
			continue
		}
		switch use := l.useHere(name, k); {
		case k.Scope == DynamicKey:
			l.warn(name, "can only be set while the node runs, with ottla configs --alter; it has no effect here")
			delete(l.config.set, name)
		case use == Unused:
			l.warn(name, "has no effect in this release")
		case use == Refused && l.atDefault(name, k):
		case use == Refused && slices.Contains(l.opt.IgnoreUnsupported, name):
			l.warn(name, "has no effect in this release; ignored as --ignore-unsupported asks")
		case use == Refused:
			l.fault(name, "this release cannot do that, and the node would be less secure or less durable without it; "+
				"remove the key, or start with --ignore-unsupported %s", name)
		}
	}
	for _, key := range l.opt.IgnoreUnsupported {
		if lookupPrefixed(key) == nil {
			l.warn(key, "is named by --ignore-unsupported but is not a key%s", l.nearest(key))
		}
	}
}

// standardAuthorizer is the only authorizer there is.
const standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

// useHere is a key's use on this node.
func (l *loading) useHere(name string, k *Key) Use {
	use := useOf(name, k)
	switch {
	case use != ByController:
		return use
	case !slices.Equal(l.config.List("process.roles"), []string{"controller"}):
		return Refused
	case name == "authorizer.class.name" && !l.atDefault(name, k) && l.config.String(name) != standardAuthorizer:
		return Refused
	}
	return Used
}

// useOf is a key's use under the name it stands at. Under a listener's prefix
// only the bounds on its connections have an effect.
func useOf(name string, k *Key) Use {
	switch {
	case k.Name == name, k.Use == Refused:
		return k.Use
	case boundsListener(name, k):
		return Used
	case ofConnections(k.Name):
		return Refused
	}
	return Unused
}

// atDefault tells whether a key was set to what it is anyway.
func (l *loading) atDefault(name string, k *Key) bool { return k.isDefault(l.config.set[name]) }

func (k *Key) isDefault(text string) bool {
	text = strings.TrimSpace(text)
	return k.HasDefault() && text == k.Default || !k.HasDefault() && text == ""
}

// removed are keys of older releases, with what took their place.
var removed = [...]struct{ prefix, instead string }{
	{"zookeeper.", "Kafka has no ZooKeeper since 4.0: metadata lives in the KRaft quorum"},
	{"inter.broker.protocol.version", "removed in Kafka 4.0: the metadata.version feature took its place"},
	{"log.message.format.version", "removed in Kafka 4.0: there is one record format"},
	{"log.message.downconversion.enable", "removed in Kafka 4.0"},
	{"log.message.timestamp.difference.max.ms", "removed in Kafka 4.0: see log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms"},
	{"control.plane.listener.name", "removed in Kafka 4.0: see controller.listener.names"},
	{"broker.id.generation.enable", "removed in Kafka 4.0: set node.id"},
	{"reserved.broker.max.id", "removed in Kafka 4.0"},
	{"password.encoder.", "removed in Kafka 4.0"},
	{"rsm.config.", "is for a remote storage plugin; it has no effect in this release"},
	{"rlmm.config.", "is for a remote storage plugin; it has no effect in this release"},
}

func (l *loading) warnUnknown(name string) {
	for _, r := range removed {
		if strings.HasPrefix(name, r.prefix) {
			l.warn(name, "%s", r.instead)
			return
		}
	}
	l.warn(name, "is not a key that this release knows%s", l.nearest(name))
}

// nearest names the known key that looks most like a name, as the end of a
// sentence; nothing when none looks like it.
func (l *loading) nearest(name string) string {
	best, least := "", min(len(name), max(3, len(name)/2)+1)
	has := lettersOf(name)
	for i := range brokerKeys {
		k := &brokerKeys[i]
		if k.Has(Internal) || has.apart(len(name), k.Name) >= least {
			continue
		}
		if d := editDistance(name, k.Name, least); d < least {
			best, least = k.Name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// letters counts how often each letter is in a name.
type letters [256]uint16

func lettersOf(name string) (l letters) {
	for i := range len(name) {
		l[name[i]]++
	}
	return l
}

// apart is a number of edits that a name of length n and another one are apart at
// least, by their letters alone. It is quick, and settles nearly all pairs.
func (l letters) apart(n int, other string) int {
	common := 0
	for i := range len(other) {
		if l[other[i]] > 0 {
			l[other[i]]--
			common++
		}
	}
	return max(n, len(other)) - common
}

// editDistance is the number of letters to insert, delete, replace or swap to
// turn a into b; it gives up with limit when it cannot be less.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	rowLeast, aboveLeast := 0, 0
	above, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], above[j-2]+1)
			}
			least = min(least, next[j])
		}
		above, row, next = row, next, above
		if aboveLeast, rowLeast = rowLeast, least; min(rowLeast, aboveLeast) >= limit {
			return limit
		}
	}
	return min(row[len(b)], limit)
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
