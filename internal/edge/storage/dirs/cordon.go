package dirs

import (
	"path/filepath"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Cordon says which directories take no new replicas from now on, by their paths
// (cordoned.log.dirs, KIP-1066); * is all of them. What lies in them stays in use.
func (d *Dirs) Cordon(paths []string) {
	all := slices.Contains(paths, "*")
	for _, dir := range d.directories() {
		dir.cordoned.Store(all || slices.ContainsFunc(paths, func(p string) bool { return filepath.Clean(p) == filepath.Clean(dir.path) }))
	}
}

// Cordoned are the ids of the directories that take no new replicas, in order; it is
// never nil.
func (d *Dirs) Cordoned() []kafka.DirID {
	ids := []kafka.DirID{}
	for _, dir := range d.directories() {
		if dir.cordoned.Load() && !dir.id.IsZero() {
			ids = append(ids, dir.id)
		}
	}
	slices.SortFunc(ids, kafka.UUID.Compare)
	return ids
}
