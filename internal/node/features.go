package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/metapeek"
	"github.com/ottla/ottla/internal/drive/raftnode"
)

// misfit is a finalized level that this release does not serve.
type misfit struct {
	level  int16
	served image.VersionRange
}

// misfits are those of the finalized levels that are not served, by name.
func misfits(levels map[string]int16) []misfit {
	var all []misfit
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		if r := image.RangeOf(image.Served(), name); !r.Contains(levels[name]) {
			all = append(all, misfit{levels[name], r})
		}
	}
	return all
}

// refusal is one line that names every misfit and what brings them down, which
// is remedy followed by a flag for each.
func refusal(whose string, all []misfit, remedy string) error {
	var at, flags []string
	for _, m := range all {
		at = append(at, fmt.Sprintf("%s %d (%s)", m.served.Name, m.level, servedText(m.served)))
		flags = append(flags, fmt.Sprintf("--feature %s=%d", m.served.Name, max(m.served.Min, min(m.level, m.served.Max))))
	}
	return fmt.Errorf("%s features at levels that this release does not serve: %s; %s %s",
		whose, strings.Join(at, ", "), remedy, strings.Join(flags, " "))
}

func servedText(r image.VersionRange) string {
	if r.Min == r.Max {
		return fmt.Sprintf("served: %d", r.Max)
	}
	return fmt.Sprintf("served: %d to %d", r.Min, r.Max)
}

// lower is what an administrator of a running cluster does about features.
const lower = "lower them with the cluster's own tools, while Apache Kafka runs it: kafka-features.sh --bootstrap-server HOST:PORT downgrade"

// unserved refuses finalized levels that this release does not serve.
func unserved(levels map[string]int16) error {
	if all := misfits(levels); len(all) > 0 {
		return refusal("the cluster has finalized", all, lower)
	}
	return nil
}

// checkFolder refuses the folder of a cluster that this release does not serve,
// before anything in it is changed. An empty folder tells what a new cluster
// would begin with, where this node may be the one to begin it.
func checkFolder(fs vfs.FS, self *config.Node) error {
	dir := metadataDir(self)
	levels := metapeek.Features(fs, dir)
	if err := unserved(levels); err != nil {
		return fmt.Errorf("%s: %w%s", dir, err, stale(self))
	}
	if len(levels) > 0 || !self.Controller {
		return nil
	}
	framed, err := raftnode.ReadBootstrap(fs, dir)
	if err != nil {
		return err
	}
	if all := misfits(levelsIn(framed)); len(all) > 0 {
		return fmt.Errorf("%s: %w", dir, refusal("the folder is formatted to finalize", all,
			"format it with `ottla storage format`, or add to kafka-storage.sh format"))
	}
	return nil
}

// stale says what to do when the folder of a mere broker is behind: the cluster
// may have been lowered since, and a node that is refused does not learn of it.
func stale(self *config.Node) string {
	if self.Controller {
		return ""
	}
	return "; if that is done already, remove this folder: a broker reads it anew from the controllers"
}

// levelsIn are the levels that framed metadata records finalize. What cannot be
// read is found again by the controller that is to write it.
func levelsIn(framed [][]byte) map[string]int16 {
	levels := map[string]int16{}
	for _, raw := range framed {
		m, _, err := metarec.ReadMetadata(raw)
		if f, ok := m.(*metarec.FeatureLevelRecord); ok && err == nil {
			levels[f.Name] = f.FeatureLevel
		}
	}
	return levels
}
