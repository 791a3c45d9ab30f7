package api

import (
	"fmt"
)

// maxNamed is how many groups, members, keys or partitions one request about
// groups may name: a name of a few bytes costs a few hundred until it is
// answered. A request that names more is refused with INVALID_REQUEST before
// anything is made of its names.
const maxNamed = 100_000

// tooManyNames is the message of that refusal.
func tooManyNames(n int, what string) *string {
	text := fmt.Sprintf("the request names %d %s, of which it may name %d", n, what, maxNamed)
	return &text
}
