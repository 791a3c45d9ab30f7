package storage

import (
	"errors"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// A log that was synced has its topic's id on the disk, so an id that cannot be
// read is damage: who took it for none would set the records aside as those of
// an unknown topic. Only the loss of power tears the file of a log that was
// never synced, and a log without records has nothing to lose.
func TestADamagedTopicIDIsNotTakenForNone(t *testing.T) {
	const (
		damaged = "version: 0\ntopic_id: AQAAAAA*AAAAAAAAAAAAAA"
		torn    = "version: 0\ntopic_id: AQA\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	)
	f := func(name, text string, n int, change func(*Options), want error) {
		t.Helper()
		r := newRig(t, func(o *Options) { o.TopicID = kafka.TopicID{1} })
		if n > 0 {
			_, err := r.AppendLeader(records("a", n, 1000, batch.Options{}), 1)
			must(t, err)
		}
		must(t, r.Close(true))
		file := testDir + "/" + PartitionMetadataFile
		must(t, vfs.WriteFileAtomic(r.disk, file, []byte(text)))
		o := r.opt
		o.TopicID = kafka.TopicID{} // as for a log that is found at the start
		change(&o)
		l, err := Open(o)
		if !errors.Is(err, want) || (want != nil && !strings.Contains(err.Error(), file)) {
			t.Errorf("%s: %v, want %v with the file's name", name, err, want)
		}
		if err == nil {
			if l.End() != kafka.Offset(n) || !l.TopicID().IsZero() {
				t.Errorf("%s: end %d, topic %s; want %d and none", name, l.End(), l.TopicID(), n)
			}
			must(t, l.Close(false))
			killed := o // before the topic was known again
			killed.SameBoot = true
			again, err := Open(killed)
			must(t, err)
			must(t, again.Close(false))
		}
	}
	clean := func(o *Options) { o.Clean = true }
	killed := func(o *Options) { o.SameBoot = true }
	synced := func(o *Options) { o.RecoveryPoint = 3 }
	never := func(*Options) {}
	f("after an orderly stop", damaged, 5, clean, ErrTopicIDUnreadable)
	f("no version", "version: x\ntopic_id: AQAAAAAAAAAAAAAAAAAAAA", 5, clean, ErrTopicIDUnreadable)
	f("after a kill, which tears nothing", damaged, 5, killed, ErrTopicIDUnreadable)
	f("after a loss of power, once synced", torn, 5, synced, ErrTopicIDUnreadable)
	f("after a loss of power, never synced", torn, 5, never, nil)
	f("no records", damaged, 0, clean, nil)
	f("no text", "", 5, clean, ErrTopicIDUnreadable)
}
