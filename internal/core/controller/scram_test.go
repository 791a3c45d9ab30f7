package controller

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
)

func upsert(user string, m auth.Mechanism, iterations int32) ScramUpsertion {
	return ScramUpsertion{User: user, Mechanism: m, Iterations: iterations, Salt: []byte("salt"), SaltedPassword: []byte("salted")}
}

// Answers and their texts are those of Apache Kafka 4.4.
func TestAlterScram(t *testing.T) {
	c := newCluster(t)
	do(c, AlterScram(c.img, ScramToAlter{Upsertions: []ScramUpsertion{upsert("old", 1, 4096), upsert("other", 1, 4096)}}))
	d := AlterScram(c.img, ScramToAlter{
		Deletions: []ScramDeletion{{"old", 1}, {"none", 1}, {"old512", 2}, {"", 1}, {"m0", 0}, {"other", 1}, {"both", 2}},
		Upsertions: []ScramUpsertion{
			upsert("new", 1, 4096), upsert("new512", 2, 16384), upsert("low", 1, 4095), upsert("high", 2, 16385), upsert("m3", 3, 4096),
			upsert("twice", 1, 4096), upsert("twice", 2, 4096), upsert("other", 2, 4096), upsert("both", 1, 4096),
			{User: "empty", Mechanism: 1, Iterations: 4096},
		},
	})
	want := []struct {
		user string
		code kerr.Code
		word string
	}{
		{"old", kerr.None, ""}, {"none", kerr.ResourceNotFound, "does not exist"}, {"old512", kerr.ResourceNotFound, ""},
		{"", kerr.UnacceptableCredential, "Username must not be empty"}, {"m0", kerr.UnsupportedSaslMechanism, "Unknown SCRAM mechanism"},
		{"other", kerr.DuplicateResource, "twice"}, {"both", kerr.ResourceNotFound, ""},
		{"new", kerr.None, ""}, {"new512", kerr.None, ""}, {"low", kerr.UnacceptableCredential, "Too few iterations"},
		{"high", kerr.UnacceptableCredential, "Too many iterations"}, {"m3", kerr.UnsupportedSaslMechanism, ""},
		{"twice", kerr.DuplicateResource, ""}, {"empty", kerr.UnacceptableCredential, "empty"},
	}
	if len(d.Reply) != len(want) {
		t.Fatalf("%d answers", len(d.Reply))
	}
	for i, w := range want {
		if d.Reply[i].User != w.user {
			t.Errorf("answer %d is for %q, not %q", i, d.Reply[i].User, w.user)
		}
		refused(t, d.Reply[i].Err, w.code, w.word)
	}
	wrote(t, d.Records, "RemoveUserScramCredential", "UserScramCredential", "UserScramCredential")
	do(c, d)
	stored, ok := c.img.Scram().Get(image.ScramKey{Mechanism: 2, User: "new512"})
	key, server := auth.ScramSHA512.Keys([]byte("salted"))
	if !ok || !slices.Equal(stored.StoredKey, key) || !slices.Equal(stored.ServerKey, server) || stored.Iterations != 16384 || string(stored.Salt) != "salt" {
		t.Errorf("stored %+v", stored)
	}
	if _, ok := c.img.Scram().Get(image.ScramKey{Mechanism: 1, User: "old"}); ok {
		t.Error("a deleted credential is there")
	}
}

func TestScramNeedsItsLevel(t *testing.T) {
	c := newCluster(t)
	c.add(&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LevelScram) - 1})
	refused(t, AlterScram(c.img, ScramToAlter{Upsertions: []ScramUpsertion{upsert("a", 1, 4096)}}).Err, kerr.UnsupportedVersion, "3.5-IV2")
}
