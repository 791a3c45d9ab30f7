package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
			if strings.HasPrefix(value, "-") || value == "" {
				return id, fmt.Errorf("version %q", value)
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

// ReadTopicID reads the topic id of a partition's folder. A zero one means that
// the folder has none, or a torn file: a loss of power leaves that of a log that
// was never synced.
func ReadTopicID(f vfs.FS, dir string) (kafka.TopicID, error) {
	b, err := vfs.ReadFile(f, filepath.Join(dir, PartitionMetadataFile), partitionMetadataLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return kafka.TopicID{}, nil
	}
	if err != nil {
		return kafka.TopicID{}, err
	}
	id, err := decodeTopicID(b)
	if err != nil {
		return kafka.TopicID{}, nil
	}
	return id, nil
}

// writeTopicID writes the topic id to a folder that was just made, unless it is
// zero. Nobody reads the folder yet, and a file that is torn counts as none.
func writeTopicID(f vfs.FS, dir string, id kafka.TopicID) error {
	if id.IsZero() {
		return nil
	}
	file, err := f.OpenFile(filepath.Join(dir, PartitionMetadataFile), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(encodeTopicID(id))
	return errors.Join(err, file.Close())
}

// keepTopicID writes the topic id to a folder that has none, and refuses one that
// has another. It gives the id that the folder has then. The first Sync of the
// log makes it durable.
func keepTopicID(f vfs.FS, dir string, want kafka.TopicID) (kafka.TopicID, error) {
	have, err := ReadTopicID(f, dir)
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
