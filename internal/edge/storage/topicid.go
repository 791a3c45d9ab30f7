package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// PartitionMetadataFile holds the topic's id in a partition's folder, as two
// lines without a line feed at the end:
//
//	version: 0
//	topic_id: 5drsZu3zQxWPczXyp8nGYg
const PartitionMetadataFile = "partition.metadata"

const partitionMetadataLimit = 4 << 10

// ErrTopicID says that a folder belongs to a topic with another id: one that
// had the same name.
var ErrTopicID = errors.New("the folder holds another topic's partition")

// ErrTopicIDUnreadable says that the topic's id is there and cannot be read, in
// the folder of a log with records. Taken for none, it would part the records
// from their topic; so the directory goes offline, as in Apache Kafka.
var ErrTopicIDUnreadable = errors.New("the topic's id cannot be read; write the TopicId that the cluster describes the topic with")

func encodeTopicID(id kafka.TopicID) []byte {
	return []byte("version: 0\ntopic_id: " + id.String())
}

func decodeTopicID(b []byte) (kafka.TopicID, error) {
	var id kafka.TopicID
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "version":
			if v, err := strconv.ParseInt(value, 10, 32); err != nil || v < 0 {
				return id, fmt.Errorf("version %.20q", value)
			}
		case "topic_id":
			parsed, err := kafka.ParseUUID(value)
			if err != nil {
				return id, err
			}
			id = parsed
		}
	}
	if id.IsZero() {
		return id, errors.New("no topic_id")
	}
	return id, nil
}

// ReadTopicID reads the topic id of a partition's folder; a zero one means that
// the folder has none. The error is ErrTopicIDUnreadable or the disk's.
func ReadTopicID(f vfs.FS, dir string) (kafka.TopicID, error) {
	name := filepath.Join(dir, PartitionMetadataFile)
	b, err := vfs.ReadFile(f, name, partitionMetadataLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return kafka.TopicID{}, nil
	}
	if err != nil {
		return kafka.TopicID{}, err
	}
	id, err := decodeTopicID(b)
	if err != nil {
		return kafka.TopicID{}, fmt.Errorf("%s: %w (%w)", name, ErrTopicIDUnreadable, err)
	}
	return id, nil
}

// mayBeTorn tells whether a topic id that cannot be read says nothing: there are
// no records that it could part from their topic, or the power was lost before
// the first Sync of the log, which makes it durable.
func mayBeTorn(opt Options, files []found) bool {
	if !opt.Clean && !opt.SameBoot && opt.RecoveryPoint <= 0 {
		return true
	}
	return !slices.ContainsFunc(files, func(f found) bool { return f.suffix == logSuffix && f.size > 0 })
}

// writeTopicID writes the topic id's file to a folder that was just made. Nobody
// reads the folder yet, and a file that is torn counts as none.
func writeTopicID(f vfs.FS, name string, id kafka.TopicID) error {
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(encodeTopicID(id))
	return errors.Join(err, file.Close())
}

// keepTopicID writes the topic id to a folder that has none, and refuses one that
// has another. It gives the id that the folder has then. The first Sync of the
// log makes it durable.
func keepTopicID(opt Options, dir string, files []found) (kafka.TopicID, error) {
	f, want := opt.FS, opt.TopicID
	have, err := ReadTopicID(f, dir)
	if errors.Is(err, ErrTopicIDUnreadable) && mayBeTorn(opt, files) {
		// Gone, as the next start would not know any more how it came to be so.
		have, err = kafka.TopicID{}, f.Remove(filepath.Join(dir, PartitionMetadataFile))
	}
	switch {
	case err != nil:
		return have, err
	case want.IsZero() || have == want:
		return have, nil
	case have.IsZero():
		return want, vfs.ReplaceFile(f, filepath.Join(dir, PartitionMetadataFile), encodeTopicID(want))
	}
	return have, fmt.Errorf("%w: %s is of topic %s, wanted %s", ErrTopicID, dir, have, want)
}
