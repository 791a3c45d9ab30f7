package storage

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// found is a file of a segment in the folder.
type found struct {
	base   kafka.Offset
	suffix string
	size   int64 // of logs and indexes; else 0
}

func (f found) name() string { return FileName(f.base, f.suffix) }

func (d *folder) list() ([]found, error) {
	entries, err := d.fs.ReadDir(d.path())
	if err != nil {
		return nil, err
	}
	var list []found
	for _, e := range entries {
		base, suffix, ok := parseFileName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		f := found{base: base, suffix: suffix}
		if suffix == logSuffix || suffix == indexSuffix || suffix == timeIndexSuffix || suffix == logSuffix+swapSuffix {
			info, err := e.Info()
			if err != nil {
				return nil, err
			}
			f.size = info.Size()
		}
		list = append(list, f)
	}
	return list, nil
}

// finishInterrupted completes or takes back what the endings of names say a
// crash interrupted:
//
//   - .deleted goes;
//   - .cleaned was not complete and goes, and with it every .swap at or above
//     the lowest of them, which belongs to the same incomplete result;
//   - any other .swap is complete and replaces the segments whose range it
//     covers.
func (d *folder) finishInterrupted(list []found) (changed bool, err error) {
	lowest := kafka.Offset(math.MaxInt64)
	for _, f := range list {
		if strings.HasSuffix(f.suffix, cleanedSuffix) {
			lowest = min(lowest, f.base)
		}
	}
	var swaps []found
	for _, f := range list {
		swap := strings.HasSuffix(f.suffix, swapSuffix)
		switch {
		case swap && f.base < lowest:
			swaps = append(swaps, f)
		case swap, strings.HasSuffix(f.suffix, deletedSuffix),
			strings.HasSuffix(f.suffix, cleanedSuffix), strings.HasSuffix(f.suffix, tmpSuffix):
			changed = true
			if err := d.fs.Remove(d.join(f.name())); err != nil {
				return changed, err
			}
		}
	}
	if err := d.completeSwaps(list, swaps); err != nil {
		return changed, err
	}
	if changed = changed || len(swaps) > 0; !changed {
		return false, nil
	}
	return true, d.fs.SyncDir(d.path())
}

func (d *folder) completeSwaps(list, swaps []found) error {
	for _, f := range swaps {
		if f.suffix == logSuffix+swapSuffix {
			if err := d.removeCovered(f, list); err != nil {
				return err
			}
		}
	}
	// The log's own name comes last: see segmentSuffixes.
	slices.SortStableFunc(swaps, func(a, b found) int { return len(b.suffix) - len(a.suffix) })
	for _, f := range swaps {
		plain := FileName(f.base, strings.TrimSuffix(f.suffix, swapSuffix))
		if err := d.fs.Rename(d.join(f.name()), d.join(plain)); err != nil {
			return err
		}
	}
	return nil
}

// removeCovered removes the segments whose base lies in the range of a swap.
func (d *folder) removeCovered(swap found, list []found) error {
	next, err := d.endOf(swap)
	if err != nil {
		return err
	}
	for _, f := range list {
		covered := f.suffix == logSuffix && f.base >= swap.base && f.base < max(next, swap.base+1)
		if !covered {
			continue
		}
		for _, suffix := range segmentSuffixes {
			err := d.fs.Remove(d.join(FileName(f.base, suffix)))
			if err != nil && !isMissing(err) {
				return err
			}
		}
	}
	return nil
}

// endOf is one past the last offset in a log file, or its base.
func (d *folder) endOf(log found) (kafka.Offset, error) {
	f, err := d.fs.OpenFile(d.join(log.name()), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end := log.base
	_, err = scan(f, 0, log.size, false, func(h batch.Header, _ int64, _ []byte) bool {
		end = h.End()
		return true
	})
	if errors.Is(err, errTorn) {
		err = nil
	}
	return end, err
}
