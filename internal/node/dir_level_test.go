package node

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// "Below 3.7-IV2, judged by the cluster's feature record, the broker refuses several
// directories with a message naming the level."
func TestSeveralDirectoriesNeedALevel(t *testing.T) {
	f := func(level image.Level, count int, says string) {
		t.Helper()
		err := severalDirs(level, count)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v, %d entries: %v, want %q", level, count, err, says)
		}
	}
	f(image.LevelDirectories-1, 2, "metadata.version 3.7-IV1")
	f(image.LevelDirectories-1, 2, "raise it to 3.7-IV2")
	f(image.LevelDirectories-1, 1, "")
	f(image.LevelDirectories, 2, "")
	f(0, 2, "") // not known yet
}

// A registration without directories is to be amended once the level has them, and one
// that lacks a directory which has come back.
func TestARegistrationWithoutADirectoryIsFound(t *testing.T) {
	f := func(level image.Level, epoch kafka.BrokerEpoch, want bool, dirs ...kafka.DirID) {
		t.Helper()
		r := metarec.NewRegisterBrokerRecord()
		r.BrokerId, r.BrokerEpoch, r.LogDirs = 1, 5, dirs
		img, _, err := image.Apply(image.Empty(), []metarec.Message{r, &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(level)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := registersLess(img, 1, epoch, []kafka.DirID{{1}, {2}}); got != want {
			t.Errorf("%v, epoch %d, %v: %v", level, epoch, dirs, got)
		}
	}
	f(image.LevelDirectories, 5, true)
	f(image.LevelDirectories-1, 5, false)
	f(image.LevelDirectories, 6, false) // that of another incarnation
	f(image.LevelDirectories, 5, true, kafka.DirID{1})
	f(image.LevelDirectories, 5, false, kafka.DirID{1}, kafka.DirID{2}, kafka.DirID{3})
}
