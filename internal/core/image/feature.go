package image

// Names of features. The first is a level of its own type, kraft.version lives
// in the quorum's control records, and DirsFeature is ours: it is named in
// registrations and never finalized.
const (
	MetadataVersion    = "metadata.version"
	KRaftVersion       = "kraft.version"
	TransactionVersion = "transaction.version"
	GroupVersion       = "group.version"
	ElrVersion         = "eligible.leader.replicas.version"
	ShareVersion       = "share.version"
	StreamsVersion     = "streams.version"
	DirsFeature        = "ottla.dirs.version"
)

// VersionRange is what a node supports of a feature, both ends included.
type VersionRange struct {
	Name     string
	Min, Max int16
}

// Contains tells whether level lies in the range.
func (r VersionRange) Contains(level int16) bool { return r.Min <= level && level <= r.Max }

// Replayable are the finalized levels that this software can read: all of
// Kafka 4.4. A log with any other level belongs to newer software.
func Replayable() []VersionRange {
	return []VersionRange{
		{MetadataVersion, int16(MinLevel), int16(LatestLevel)},
		{TransactionVersion, 0, 2},
		{GroupVersion, 0, 1},
		{ElrVersion, 0, 1},
		{ShareVersion, 0, 2},
		{StreamsVersion, 0, 1},
	}
}

// Served are the finalized levels that a node of this release serves: what a
// cluster may be finalized at while one of ours is in it. Features whose
// protocols are not served stay at 0, so that the node never joins and
// half-serves. Registrations, ApiVersions, formatting and the check of folders
// all read it here.
func Served() []VersionRange {
	return []VersionRange{
		{MetadataVersion, int16(MinLevel), int16(LatestLevel)},
		{KRaftVersion, 0, 1},
		{ElrVersion, 0, 1},
	}
}

// RangeOf finds a feature in ranges. A feature that is absent has range 0 to 0.
func RangeOf(ranges []VersionRange, name string) VersionRange {
	for _, r := range ranges {
		if r.Name == name {
			return r
		}
	}
	return VersionRange{Name: name}
}
