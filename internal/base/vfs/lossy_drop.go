package vfs

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// DropUnsynced makes of each folder what a loss of power would have left, by
// the journal of a Lossy disk whose process is gone, and changes the BootID.
// With seed 0 nothing unsynced stays. Otherwise each file keeps, by the seed,
// its synced bytes alone or a part of those that were appended after them.
func DropUnsynced(journal string, seed uint64, folders ...string) error {
	var rng *rand.Rand
	if seed != 0 {
		rng = rand.New(rand.NewPCG(seed, 0x6f74746c61))
	}
	for _, folder := range folders {
		if err := dropFolder(journal, absolute(folder), rng); err != nil {
			return fmt.Errorf("drop unsynced of %s: %w", folder, err)
		}
	}
	// The journal begins anew from what is left.
	for _, d := range []string{"inodes", "tree"} {
		if err := os.RemoveAll(filepath.Join(journal, d)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(journal, "boot-id"), []byte(processBootID()), 0o644)
}

func dropFolder(journal, folder string, rng *rand.Rand) error {
	tree := filepath.Join(journal, "tree", folder)
	aside := folder + ".dropping"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	err := filepath.WalkDir(tree, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		target := filepath.Join(aside, rest)
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if rng != nil {
			b = append(b, unsyncedTail(filepath.Join(folder, rest), len(b), rng)...)
		}
		return os.WriteFile(target, b, 0o644)
	})
	if os.IsNotExist(err) {
		return os.RemoveAll(folder) // it was never durable
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Rename(aside, folder)
}

// unsyncedTail are bytes behind the synced ones that made it to the disk.
func unsyncedTail(name string, synced int, rng *rand.Rand) []byte {
	b, err := os.ReadFile(name)
	if err != nil || len(b) <= synced || rng.IntN(3) == 0 {
		return nil
	}
	return b[synced : synced+rng.IntN(len(b)-synced+1)]
}
