package controller

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
)

// ScramDeletion takes a credential away.
type ScramDeletion struct {
	User      string
	Mechanism auth.Mechanism
}

// ScramUpsertion gives a credential, or another one in its place.
type ScramUpsertion struct {
	User           string
	Mechanism      auth.Mechanism
	Iterations     int32
	Salt           []byte
	SaltedPassword []byte
}

// ScramToAlter is an AlterUserScramCredentials request.
type ScramToAlter struct {
	Deletions  []ScramDeletion
	Upsertions []ScramUpsertion
}

// AlteredUser is the answer for one user.
type AlteredUser struct {
	User string
	Err  error
}

// AlterScram changes SCRAM credentials (KIP-554). A user has one change in a request,
// of whatever mechanism; the good ones come in one batch. What is stored of a salted
// password does not let anybody log in with it.
func AlterScram(img *image.Image, want ScramToAlter) Decision[[]AlteredUser] {
	if img.Level() < image.LevelScram {
		return refusef[[]AlteredUser](kerr.UnsupportedVersion, "SCRAM credentials need %s %v or newer, the cluster has %v",
			image.MetadataVersion, image.LevelScram, img.Level())
	}
	a := scramAlterer{img: img, found: map[string]int{}}
	for _, w := range want.Deletions {
		key := image.ScramKey{Mechanism: int8(w.Mechanism), User: w.User}
		a.change(w.User, a.checkDeletion(key), &metarec.RemoveUserScramCredentialRecord{Name: key.User, Mechanism: key.Mechanism})
	}
	for _, w := range want.Upsertions {
		if err := w.check(); err != nil {
			a.change(w.User, err, nil)
			continue
		}
		stored, server := w.Mechanism.Keys(w.SaltedPassword)
		a.change(w.User, nil, &metarec.UserScramCredentialRecord{
			Name: w.User, Mechanism: int8(w.Mechanism), Salt: w.Salt, StoredKey: stored, ServerKey: server, Iterations: w.Iterations,
		})
	}
	d := draftOn(img)
	for i, record := range a.records {
		if a.replies[i].Err == nil {
			d.add(record)
		}
	}
	return bounded(atomically(d, a.replies))
}

// scramAlterer gathers the changes of one request, one for each user.
type scramAlterer struct {
	img     *image.Image
	found   map[string]int // where a user's reply is
	replies []AlteredUser
	records []metarec.Message // of the user with that reply
}

// change enters the change of a user, or why there is none. A second good one spoils
// the first; what is refused stays refused for its first reason.
func (a *scramAlterer) change(user string, err error, record metarec.Message) {
	i, twice := a.found[user]
	switch {
	case !twice:
		a.found[user] = len(a.replies)
		a.replies, a.records = append(a.replies, AlteredUser{user, err}), append(a.records, record)
	case a.replies[i].Err == nil:
		a.replies[i].Err = kerr.Errorf(kerr.DuplicateResource, "A user credential cannot be altered twice in the same request")
	}
}

func (a *scramAlterer) checkDeletion(key image.ScramKey) error {
	if err := checkScramKey(key.User, auth.Mechanism(key.Mechanism)); err != nil {
		return err
	}
	if _, ok := a.img.Scram().Get(key); !ok {
		return kerr.Errorf(kerr.ResourceNotFound, "Attempt to delete a user credential that does not exist")
	}
	return nil
}

func (w *ScramUpsertion) check() error {
	if err := checkScramKey(w.User, w.Mechanism); err != nil {
		return err
	}
	switch {
	case w.Iterations < auth.MinIterations:
		return kerr.Errorf(kerr.UnacceptableCredential, "Too few iterations")
	case w.Iterations > auth.MaxIterations:
		return kerr.Errorf(kerr.UnacceptableCredential, "Too many iterations")
	case len(w.SaltedPassword) == 0: // for Kafka an unknown error
		return kerr.Errorf(kerr.UnacceptableCredential, "Salted password must not be empty")
	}
	return nil
}

func checkScramKey(user string, m auth.Mechanism) error {
	switch {
	case user == "":
		return kerr.Errorf(kerr.UnacceptableCredential, "Username must not be empty")
	case !m.Known():
		return kerr.Errorf(kerr.UnsupportedSaslMechanism, "Unknown SCRAM mechanism")
	}
	return nil
}
