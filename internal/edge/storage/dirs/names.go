package dirs

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Endings of partition folders that are not in service.
const (
	deleteSuffix = "-delete" // waits for its removal
	straySuffix  = "-stray"  // not known to the metadata; kept for people to look at
	futureSuffix = "-future" // a copy that is being moved here from another directory
)

// maxFolderName is the longest name that file systems take.
const maxFolderName = 255

// kind says what a folder in a log directory is.
type kind int

const (
	unknownFolder kind = iota
	plainFolder
	deletedFolder
	strayFolder
	futureFolder
	ignoredFolder // not ours, and known to be harmless
	metadataFolder
)

// remoteIndexCache is a folder that Kafka's tiered storage keeps in the first
// directory.
const remoteIndexCache = "remote-log-index-cache"

// classify reads a folder's name. The partition is set for plainFolder and
// futureFolder only.
func classify(name string) (kind, kafka.TopicPartition) {
	switch {
	case strings.HasPrefix(name, "."), name == "lost+found", name == remoteIndexCache:
		return ignoredFolder, kafka.TopicPartition{}
	case name == folderName(kafka.MetadataPartition):
		return metadataFolder, kafka.MetadataPartition
	case setAside(name, deleteSuffix):
		return deletedFolder, kafka.TopicPartition{}
	case setAside(name, straySuffix):
		return strayFolder, kafka.TopicPartition{}
	case setAside(name, futureSuffix):
		return parseFuture(name)
	}
	tp, ok := parseFolder(name)
	if !ok {
		return unknownFolder, tp
	}
	return plainFolder, tp
}

// setAside tells a name of the form <topic>-<partition>.<32 hex digits><suffix>.
func setAside(name, suffix string) bool {
	rest, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return false
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 || len(rest)-dot-1 != 32 {
		return false
	}
	_, err := hex.DecodeString(rest[dot+1:])
	return err == nil
}

// asideTail is how much of a folder's name an id and its dot take.
const asideTail = 1 + 32

// parseFuture reads the name of a future replica's folder, which is never cut.
func parseFuture(name string) (kind, kafka.TopicPartition) {
	tp, ok := parseFolder(name[:len(name)-len(futureSuffix)-asideTail])
	if !ok {
		return unknownFolder, tp
	}
	return futureFolder, tp
}

// parseFolder splits a folder's name at the last dash.
func parseFolder(name string) (kafka.TopicPartition, bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 || kafka.CheckTopicName(name[:dash]) != nil {
		return kafka.TopicPartition{}, false
	}
	n, err := strconv.ParseUint(name[dash+1:], 10, 31)
	if err != nil {
		return kafka.TopicPartition{}, false
	}
	tp := kafka.TopicPartition{Topic: name[:dash], Partition: kafka.PartitionID(n)}
	if folderName(tp) != name {
		return kafka.TopicPartition{}, false // t-01 is another folder than t-1
	}
	return tp, true
}

func folderName(tp kafka.TopicPartition) string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// asideName is a name under which a folder waits, with the topic cut so that it
// is no longer than file systems take.
func asideName(tp kafka.TopicPartition, suffix string) string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	tail := fmt.Sprintf("-%d.%x%s", tp.Partition, id, suffix)
	topic := tp.Topic
	if most := maxFolderName - len(tail); len(topic) > most {
		topic = topic[:most]
	}
	return topic + tail
}
