package image

// Level is a level of metadata.version, the feature that decides which records
// may be written (KIP-584). Zero means that none is known yet.
type Level int16

// Levels that switch something on, named for it.
const (
	MinLevel                Level = 7
	LevelMigration          Level = 8
	LevelScram              Level = 11
	LevelNoBumpOnShrink     Level = 12
	LevelTransactions       Level = 13
	LevelDelegationTokens   Level = 14
	LevelControllers        Level = 15
	LevelDirectories        Level = 17
	LevelElr                Level = 23
	LevelCordonedDirs       Level = 30
	LevelCidrAcls           Level = 32
	LevelUnregisterControls Level = 33
	// LatestLevel is 4.4-IV2, the newest production level of Kafka 4.4.
	LatestLevel Level = 33
)

// RegisterBroker is the version of RegisterBrokerRecord to write.
func (l Level) RegisterBroker() int16 {
	switch {
	case l >= LevelCordonedDirs:
		return 4
	case l >= LevelDirectories:
		return 3
	case l >= LevelMigration:
		return 2
	}
	return 1
}

// Partition is the version of PartitionRecord and of PartitionChangeRecord to
// write.
func (l Level) Partition() int16 {
	switch {
	case l >= LevelElr:
		return 2
	case l >= LevelDirectories:
		return 1
	}
	return 0
}

// HasDirectories tells whether records carry directory ids (KIP-858).
func (l Level) HasDirectories() bool { return l >= LevelDirectories }

// ChangesFormat tells whether records of this level cannot be read below it. A
// downgrade may not cross such a level.
func (l Level) ChangesFormat() bool {
	switch l {
	case 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33:
		return true
	}
	return false
}

// levelNames are those of Kafka's tables, from MinLevel on.
var levelNames = [...]string{
	"3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
	"3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0",
	"4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1",
	"4.3-IV0", "4.4-IV0", "4.4-IV1", "4.4-IV2",
}

// Known tells whether Kafka 4.4 has this level in production.
func (l Level) Known() bool { return MinLevel <= l && l <= LatestLevel }

// String is Kafka's name of the level, for example 4.4-IV2.
func (l Level) String() string {
	if !l.Known() {
		return "unknown"
	}
	return levelNames[l-MinLevel]
}
