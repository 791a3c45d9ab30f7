package format

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
)

// saltSize is that of a salt that is made here, in bytes.
const saltSize = 20

// scramMechanism is one of the two there are; id is its number in records.
type scramMechanism struct {
	id   int8
	name string
	hash func() hash.Hash
}

var scramMechanisms = []scramMechanism{{1, "SCRAM-SHA-256", sha256.New}, {2, "SCRAM-SHA-512", sha512.New}}

// ParseScram makes the record of one --add-scram argument (KIP-900):
//
//	SCRAM-SHA-256=[name=alice,password=secret]
//	SCRAM-SHA-512=[name=bob,salt="b64",saltedpassword="b64",iterations=8192]
//
// A value in double quotes may hold any character but a quote. random gives the
// salt where none is given.
func ParseScram(text string, random io.Reader) (*metarec.UserScramCredentialRecord, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok {
		return nil, refuse("Failed to find equals sign in SCRAM argument '%s'", text)
	}
	for _, m := range scramMechanisms {
		if m.name == name {
			return m.record(list, random)
		}
	}
	return nil, refuse("The add-scram mechanism %s is not supported. (allowed: SCRAM-SHA-256, SCRAM-SHA-512)", name)
}

func (m scramMechanism) record(list string, random io.Reader) (*metarec.UserScramCredentialRecord, error) {
	values, err := scramValues(list)
	if err != nil {
		return nil, err
	}
	if values["name"] == "" {
		return nil, refuse("You must supply 'name' to add-scram")
	}
	iterations, err := m.iterations(values)
	if err != nil {
		return nil, err
	}
	salt, err := base64.StdEncoding.DecodeString(values["salt"])
	if err != nil {
		return nil, refuse("Failed to decode given salt: %s: %v", values["salt"], err)
	}
	salted, err := m.saltedPassword(values, &salt, iterations, random)
	if err != nil {
		return nil, err
	}
	stored, server := auth.Mechanism(m.id).Keys(salted)
	return &metarec.UserScramCredentialRecord{
		Name: values["name"], Mechanism: m.id, Salt: salt, Iterations: int32(iterations),
		StoredKey: stored, ServerKey: server,
	}, nil
}

// saltedPassword is given, or made of the password (RFC 5802, 3).
func (m scramMechanism) saltedPassword(values map[string]string, salt *[]byte, iterations int, random io.Reader) ([]byte, error) {
	password, plain := values["password"]
	given, salted := values["saltedpassword"]
	switch {
	case plain == salted:
		return nil, refuse("You must supply one of 'password' or 'saltedpassword' to add-scram")
	case salted && len(*salt) == 0:
		return nil, refuse("You must supply 'salt' with 'saltedpassword' to add-scram")
	case salted:
		key, err := base64.StdEncoding.DecodeString(given)
		if err != nil {
			return nil, refuse("Failed to decode given saltedpassword: %v", err)
		}
		return key, nil
	}
	if len(*salt) == 0 {
		*salt = make([]byte, saltSize)
		if _, err := io.ReadFull(random, *salt); err != nil {
			return nil, fmt.Errorf("make a salt: %w", err)
		}
	}
	return pbkdf2.Key(m.hash, password, *salt, iterations, m.hash().Size())
}

func (m scramMechanism) iterations(values map[string]string) (int, error) {
	text, given := values["iterations"]
	if !given {
		return auth.MinIterations, nil
	}
	n, err := strconv.Atoi(text)
	enum := strings.ReplaceAll(m.name, "-", "_")
	switch {
	case err != nil:
		return 0, refuse("The 'iterations' value must be a number, not %q", text)
	case n < auth.MinIterations:
		return 0, refuse("The 'iterations' value must be >= %d for add-scram using %s", auth.MinIterations, enum)
	case n > auth.MaxIterations:
		return 0, refuse("The 'iterations' value must be <= %d for add-scram using %s", auth.MaxIterations, enum)
	}
	return n, nil
}

// scramKeys are those the list may hold.
const scramKeys = " name password salt saltedpassword iterations "

// scramValues reads [key=value,...].
func scramValues(list string) (map[string]string, error) {
	inner, ok := strings.CutPrefix(list, "[")
	if !ok {
		return nil, refuse("Expected configuration string to start with [")
	}
	if inner, ok = strings.CutSuffix(inner, "]"); !ok {
		return nil, refuse("Expected configuration string to end with ]")
	}
	values := map[string]string{}
	for inner != "" {
		var key, value string
		if key, inner, ok = strings.Cut(inner, "="); !ok {
			return nil, refuse("No equals sign found in SCRAM component: %s", key)
		}
		if value, inner, ok = scramValue(inner); !ok {
			return nil, refuse("The value of '%s' has no closing quote, or something behind it", key)
		}
		key = strings.TrimSpace(key)
		switch _, twice := values[key]; {
		case !strings.Contains(scramKeys, " "+key+" "):
			return nil, refuse("Unknown SCRAM configurations: %s", key)
		case twice:
			return nil, fmt.Errorf("'%s' is given twice to add-scram", key)
		}
		values[key] = value
	}
	return values, nil
}

// scramValue cuts the first value off a list.
func scramValue(list string) (value, rest string, ok bool) {
	quoted, ok := strings.CutPrefix(list, `"`)
	if !ok {
		value, rest, _ = strings.Cut(list, ",")
		return strings.TrimSpace(value), rest, true
	}
	if value, rest, ok = strings.Cut(quoted, `"`); !ok {
		return "", "", false
	}
	rest, more := strings.CutPrefix(rest, ",")
	return value, rest, more || rest == ""
}
