package lifecycle

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// "Amend sends the registration again, until it is taken": metadata.version has risen
// to where registrations name directories (KAFKA-16162).
func TestARegistrationIsAmended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []kmsg.BrokerRegistrationRequest
		d := &desk{register: func(r *kmsg.BrokerRegistrationRequest) (kerr.Code, int64) {
			sent = append(sent, *r)
			if len(sent) == 2 || len(sent) == 3 {
				return kerr.NotController, -1
			}
			return kerr.None, 5
		}}
		l, stop := start(d, func(c *Config) { c.Incarnation = kafka.UUID{7} })
		l.Published(5)
		l.Ready()
		<-l.Unfenced()
		synctest.Wait()
		if len(sent) != 1 {
			t.Fatalf("registered %d times", len(sent))
		}
		for range 3 { // images follow each other while the answer is under way
			l.Amend()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(sent) != 4 {
			t.Fatalf("registered %d times, want 4", len(sent))
		}
		for n, r := range sent {
			if r.IncarnationID != [16]byte{7} || len(r.LogDirs) != 2 {
				t.Errorf("registration %d: %+v", n, r)
			}
		}
		if l.Epoch() != 5 {
			t.Errorf("epoch %d", l.Epoch())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A directory that comes back is named in the next registration and in no heartbeat
// any more; one that is lost is not registered anew.
func TestADirectoryThatReturnsIsRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []kmsg.BrokerRegistrationRequest
		d := &desk{
			register: func(r *kmsg.BrokerRegistrationRequest) (kerr.Code, int64) {
				sent = append(sent, *r)
				return kerr.None, 5
			},
		}
		l, stop := start(d, func(c *Config) { c.Incarnation = kafka.UUID{7} })
		l.Published(5)
		l.Ready()
		<-l.Unfenced()
		l.DirFailed(kafka.DirID{1})
		l.DirFailed(kafka.DirID{2})
		synctest.Wait()
		l.DirReturned(kafka.DirID{3})
		time.Sleep(time.Minute)
		l.DirReturned(kafka.DirID{2})
		time.Sleep(time.Minute)
		synctest.Wait()
		want := [][][16]byte{{{1}, {2}}, {{3}}, {{2}, {3}}}
		for n, r := range sent {
			if !slices.Equal(r.LogDirs, want[n]) || r.IncarnationID != [16]byte{7} {
				t.Errorf("registration %d: %+v, want %v", n, r, want[n])
			}
		}
		if len(sent) != len(want) || l.Epoch() != 5 {
			t.Errorf("registered %d times, epoch %d", len(sent), l.Epoch())
		}
		if got := d.heartbeats[len(d.heartbeats)-1].OfflineLogDirs; !slices.Equal(got, [][16]byte{{1}}) {
			t.Errorf("offline in a heartbeat: %v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
