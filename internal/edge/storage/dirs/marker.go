package dirs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// CleanShutdownFile says that all logs of a directory were closed in order. It
// holds the broker epoch, so that the controller can tell a clean restart from
// one after a crash (KIP-966):
//
//	{"version":0,"brokerEpoch":11}
const CleanShutdownFile = ".kafka_cleanshutdown"

const markerLimit = 4 << 10

type marker struct {
	Version     int               `json:"version"`
	BrokerEpoch kafka.BrokerEpoch `json:"brokerEpoch"`
}

func encodeMarker(epoch kafka.BrokerEpoch) []byte {
	return fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, epoch)
}

// decodeMarker gives NoBrokerEpoch for text of other releases, which still
// means a clean stop.
func decodeMarker(b []byte) kafka.BrokerEpoch {
	m := marker{BrokerEpoch: kafka.NoBrokerEpoch}
	if err := json.Unmarshal(b, &m); err != nil || m.Version != 0 {
		return kafka.NoBrokerEpoch
	}
	return m.BrokerEpoch
}

func markerPath(dir string) string { return filepath.Join(dir, CleanShutdownFile) }

func readMarker(f vfs.FS, dir string) (clean bool, epoch kafka.BrokerEpoch, err error) {
	b, err := vfs.ReadFile(f, markerPath(dir), markerLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return false, kafka.NoBrokerEpoch, nil
	}
	if err != nil {
		return false, kafka.NoBrokerEpoch, err
	}
	return true, decodeMarker(b), nil
}

// removeMarker removes the marker before loading begins: a crash while loading
// counts as unclean.
func removeMarker(f vfs.FS, dir string) error {
	if err := f.Remove(markerPath(dir)); err != nil {
		return err
	}
	return f.SyncDir(dir)
}
