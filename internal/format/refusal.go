package format

import "fmt"

// Refusal is why a request cannot be carried out: a sentence for the person who
// made it, in Kafka's words where it has some.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// ErrNothing tells that no directory can be formatted.
const ErrNothing = Refusal("No available log directories to format.")
