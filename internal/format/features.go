package format

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/core/image"
)

// feature is one that a cluster can be formatted with besides
// metadata.version.
type feature struct {
	name string
	max  int16 // of Kafka 4.4
	// since is the metadata.version from which Kafka formats clusters with a
	// level, index 0 being level 1.
	since []image.Level
	// needs is the least metadata.version of every level above 0.
	needs image.Level
}

// features are those of Kafka 4.4, by name.
var features = []feature{
	{name: image.ElrVersion, max: 1, since: []image.Level{26}, needs: image.LevelElr},
	{name: image.GroupVersion, max: 1, since: []image.Level{22}},
	{name: image.KRaftVersion, max: 1, since: []image.Level{21}},
	{name: image.ShareVersion, max: 2, since: []image.Level{28, 31}},
	{name: image.StreamsVersion, max: 1, since: []image.Level{29}},
	{name: image.TransactionVersion, max: 2, since: []image.Level{24, 24}},
}

func featureNamed(name string) (feature, bool) {
	i := slices.IndexFunc(features, func(f feature) bool { return f.name == name })
	if i < 0 {
		return feature{}, false
	}
	return features[i], true
}

func featureNames() string {
	var names []string
	for _, f := range features {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// ParseRelease reads a release or a metadata.version: 4.3, 4.3.1 and 4.3-IV0
// all work; a release means its newest level.
func ParseRelease(text string) (image.Level, error) {
	parts := strings.Split(text, ".")
	wanted := strings.Join(parts[:min(2, len(parts))], ".")
	for level := image.LatestLevel; level >= image.MinLevel; level-- {
		if name := level.String(); name == wanted || strings.HasPrefix(name, wanted+"-") {
			return level, nil
		}
	}
	var known []string
	for level := image.MinLevel; level <= image.LatestLevel; level++ {
		known = append(known, level.String())
	}
	return 0, refuse("Unknown metadata.version '%s'. Supported metadata.version are: %s", text, strings.Join(known, ", "))
}

// parseFeatures reads name=level flags; of a name given twice the last counts.
func parseFeatures(flags []string) (map[string]int16, error) {
	levels := map[string]int16{}
	for _, flag := range flags {
		name, text, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, fmt.Errorf("--feature %s: equals sign not found; use --feature name=level", flag)
		}
		level, err := strconv.ParseInt(strings.TrimSpace(text), 10, 16)
		if err != nil {
			return nil, fmt.Errorf("--feature %s: the level must be a number, not %q", flag, text)
		}
		levels[strings.TrimSpace(name)] = int16(level)
	}
	return levels, nil
}

// levels are what a cluster is formatted with.
type levels struct {
	metadata image.Level
	kraft    int16
	// others are the features besides these two at a level above 0, by name: the
	// levels that were asked for, else those with which Kafka formats a cluster of
	// this metadata.version, as far as this release serves them.
	others []namedLevel
}

type namedLevel struct {
	name  string
	level int16
}

// chooseLevels works out the levels. dynamic tells that the voters are not in
// the configuration.
func chooseLevels(r Request, dynamic bool) (levels, error) {
	asked, err := parseFeatures(r.Features)
	if err != nil {
		return levels{}, err
	}
	l := levels{metadata: image.LatestLevel, kraft: 0}
	number, explicit := asked[image.MetadataVersion]
	switch {
	case explicit && r.Release != "":
		return levels{}, refuse("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
	case r.Release != "":
		if l.metadata, err = ParseRelease(r.Release); err != nil {
			return levels{}, err
		}
	case explicit && number == int16(image.LatestLevel)+1:
		return levels{}, fmt.Errorf("metadata.version level %d is not yet stable; the newest level is %d (%s)", number, image.LatestLevel, image.LatestLevel)
	case explicit && !image.Level(number).Known():
		return levels{}, refuse("No MetadataVersion with feature level %d. Valid feature levels are from %d to %d.", number, image.MinLevel, image.LatestLevel)
	case explicit:
		l.metadata = image.Level(number)
	}
	if l.kraft, err = kraftLevel(asked, dynamic); err != nil {
		return levels{}, err
	}
	if err := checkAsked(asked, l.metadata); err != nil {
		return levels{}, err
	}
	for _, f := range features {
		level, explicit := asked[f.name]
		if !explicit {
			level = min(f.usual(l.metadata), image.RangeOf(image.Served(), f.name).Max)
		}
		if level > 0 && f.name != image.KRaftVersion {
			l.others = append(l.others, namedLevel{f.name, level})
		}
	}
	return l, nil
}

// checkAsked refuses levels that do not exist, or not at a metadata.version.
func checkAsked(asked map[string]int16, metadata image.Level) error {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		level := asked[name]
		f, known := featureNamed(name)
		switch {
		case name == image.MetadataVersion:
		case !known:
			return refuse("Unsupported feature: %s. Supported features are: %s", name, featureNames())
		case level < 0 || level > f.max:
			return refuse("No feature:%s with feature level %d; levels are 0 to %d", name, level, f.max)
		case level > 0 && metadata < f.needs:
			return fmt.Errorf("%s could not be set to %d because it depends on metadata.version level %d (%s)", name, level, f.needs, f.needs)
		}
	}
	return nil
}

// usual is the level with which Kafka formats a cluster of a metadata.version.
func (f feature) usual(metadata image.Level) int16 {
	n := 0
	for n < len(f.since) && f.since[n] <= metadata {
		n++
	}
	return int16(n)
}

// mustBeServed refuses levels at which no node of this release would start.
// Apart from chooseLevels, since all levels of Kafka can be written and compared with its
// files.
func (l levels) mustBeServed() error {
	for _, other := range l.others {
		if served := image.RangeOf(image.Served(), other.name); other.level > served.Max {
			return refuse("%s=%d is not served by this release, which could not start with it (served levels: 0 to %d)", other.name, other.level, served.Max)
		}
	}
	return nil
}

// kraftLevel is 1 for a dynamic quorum and 0 for a static one; asking for the
// other is a mistake.
func kraftLevel(asked map[string]int16, dynamic bool) (int16, error) {
	level, explicit := asked[image.KRaftVersion]
	switch {
	case dynamic && explicit && level == 0:
		return 0, refuse("Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used. " +
			"For dynamic controllers support, try removing the --feature flag for kraft.version.")
	case !dynamic && explicit && level > 0:
		return 0, refuse("Cannot set kraft.version to %d unless controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used. "+
			"For dynamic controllers support, try using one of --standalone, --initial-controllers, or --no-initial-controllers and removing controller.quorum.voters.", level)
	case dynamic:
		return 1, nil
	}
	return 0, nil
}

// VersionMapping is the level Kafka formats each feature with at a level of
// metadata.version, by name, metadata.version first.
func VersionMapping(level image.Level) []string {
	lines := []string{fmt.Sprintf("%s=%d (%s)", image.MetadataVersion, level, level)}
	for _, f := range features {
		lines = append(lines, fmt.Sprintf("%s=%d", f.name, f.usual(level)))
	}
	return lines
}

// Dependencies tells what a level of a feature needs of metadata.version.
func Dependencies(flag string) (string, error) {
	asked, err := parseFeatures([]string{flag})
	if err != nil {
		return "", err
	}
	for name, level := range asked {
		f, known := featureNamed(name)
		switch {
		case name == image.MetadataVersion && image.Level(level).Known():
			return fmt.Sprintf("%s=%d (%s) has no dependencies.", name, level, image.Level(level)), nil
		case !known && name != image.MetadataVersion:
			return "", refuse("Unknown feature: %s. Known features are: %s, %s", name, image.MetadataVersion, featureNames())
		case !known, level < 0 || level > f.max:
			return "", refuse("No feature:%s with feature level %d", name, level)
		case level > 0 && f.needs > 0:
			return fmt.Sprintf("%s=%d requires:\n    metadata.version=%d (%s)", name, level, f.needs, f.needs), nil
		}
		return fmt.Sprintf("%s=%d has no dependencies.", name, level), nil
	}
	return "", fmt.Errorf("--feature is empty")
}
