package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// valueError says why a text cannot be a key's value, in Kafka's words.
type valueError struct {
	key    *Key
	value  string
	reason string
}

func (e *valueError) Error() string {
	value := e.value
	if e.key.Sensitive() {
		value = "[hidden]"
	}
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", value, e.key.Name, e.reason)
}

// sentence is an error whose text is Kafka's.
type sentence string

func (s sentence) Error() string { return string(s) }

// Check tells why a text cannot be the key's value, or returns nil. Blanks
// around the text do not count.
func (k *Key) Check(text string) error {
	text = strings.TrimSpace(text)
	switch k.Type {
	case Bool:
		if _, err := parseBool(text); err != nil {
			return &valueError{k, text, "Expected value to be either true or false"}
		}
	case Int, Short, Long:
		n, err := strconv.ParseInt(text, 10, k.bits())
		if err != nil {
			return &valueError{k, text, "Not a number of type " + k.Type.String()}
		}
		return k.checkRange(text, float64(n))
	case Double:
		f, err := parseDouble(text)
		if err != nil {
			return &valueError{k, text, "Not a number of type DOUBLE"}
		}
		return k.checkRange(javaDouble(f), f)
	case List:
		return k.checkList(text)
	default:
		return k.checkOneOf(text)
	}
	return nil
}

func (k *Key) bits() int {
	switch k.Type {
	case Short:
		return 16
	case Int:
		return 32
	}
	return 64
}

// checkRange holds a number against Valid. A bound fits a float64 exactly:
// none is above 2^53.
func (k *Key) checkRange(text string, n float64) error {
	bounds, also, _ := strings.Cut(k.Valid, "|")
	low, high, isRange := strings.Cut(bounds, "..")
	if !isRange {
		return nil
	}
	min, max := bound(low, math.Inf(-1)), bound(high, math.Inf(1))
	switch outside := n < min || n > max; {
	case !outside:
		return nil
	case also != "" && n == bound(also, 0):
		return nil
	case also != "":
		return &valueError{k, text, fmt.Sprintf("Value must be between %s and %s or equal to %s", low, high, also)}
	case n < min:
		return &valueError{k, text, "Value must be at least " + low}
	default:
		return &valueError{k, text, "Value must be no more than " + high}
	}
}

func bound(text string, unset float64) float64 {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return unset
}

// checkList wants items that are not empty and, where Valid lists them, known.
func (k *Key) checkList(text string) error {
	choices, needed := strings.CutPrefix(k.Valid, "+")
	switch {
	case text == "" && needed:
		return sentence("Configuration '" + k.Name + "' must not be empty. Valid values include: " + orAny(choices))
	case text == "":
		return nil
	case k.Valid == replicaPairs:
		return k.checkThrottled(text)
	}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return sentence("Configuration '" + k.Name + "' values must not be empty.")
		}
		if choices != "" && !contains(choices, item) {
			return &valueError{k, item, "String must be one of: " + commaed(choices)}
		}
	}
	return nil
}

func orAny(choices string) string {
	if choices == "" {
		return "any non-empty value"
	}
	return "[" + commaed(choices) + "]"
}

// replicaPairs is the Valid of lists of throttled replicas.
const replicaPairs = "p:b"

// checkThrottled wants "*" alone, or pairs of partition and broker.
func (k *Key) checkThrottled(text string) error {
	if text == "*" || plainPairs(text) {
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		partition, broker, pair := strings.Cut(strings.TrimSpace(item), ":")
		if !pair || !digits(partition) || !digits(broker) {
			return &valueError{k, "[" + strings.Join(splitList(text), ", ") + "]", k.Name +
				" must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."}
		}
	}
	return nil
}

// plainPairs tells whether a list of throttled replicas is certainly in order: nothing
// but pairs, without blanks, of numbers of at most nine digits. Nearly every list is so,
// and it may be long.
func plainPairs(text string) bool {
	size, colon := 0, false // of the number at hand, and whether it is the second of its pair
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9' && size < 9:
			size++
		case size > 0 && (c == ':' && !colon || c == ',' && colon):
			size, colon = 0, c == ':'
		default:
			return false
		}
	}
	return size > 0 && colon
}

// digits tells whether a text is a number from 0 to 2^31-1.
func digits(s string) bool {
	if len(s) > 9 {
		_, err := strconv.ParseUint(s, 10, 31)
		return err == nil
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func (k *Key) checkOneOf(text string) error {
	choices, anyCase := strings.CutPrefix(k.Valid, "~")
	switch {
	case choices == "":
		return nil
	case choices == "+" && text == "":
		return &valueError{k, text, "String must be non-empty"}
	case choices == "+", contains(choices, text):
		return nil
	case anyCase && contains(strings.ToLower(choices), strings.ToLower(text)):
		return nil
	case anyCase:
		return &valueError{k, text, "String must be one of (case insensitive): " + commaed(choices)}
	}
	return &valueError{k, text, "String must be one of: " + commaed(choices)}
}

// contains tells whether a space separated list has an item.
func contains(list, item string) bool {
	for len(list) > 0 {
		var first string
		if first, list, _ = strings.Cut(list, " "); first == item {
			return true
		}
	}
	return false
}

func commaed(list string) string { return strings.ReplaceAll(list, " ", ", ") }

// Allowed describes what the key takes, for people.
func (k *Key) Allowed() string {
	bounds, also, _ := strings.Cut(k.Valid, "|")
	low, high, isRange := strings.Cut(bounds, "..")
	choices := strings.TrimLeft(k.Valid, "+~")
	switch {
	case isRange && also != "":
		return fmt.Sprintf("a number of type %s from %s to %s, or %s", k.Type, low, high, also)
	case isRange && high != "":
		return fmt.Sprintf("a number of type %s from %s to %s", k.Type, low, high)
	case isRange:
		return fmt.Sprintf("a number of type %s, at least %s", k.Type, low)
	case k.Valid == replicaPairs:
		return "* or a list of partition:broker"
	case choices != "" && k.Type == List:
		return "a list of: " + commaed(choices)
	case choices != "":
		return "one of: " + commaed(choices)
	case k.Type == Bool:
		return "true or false"
	case k.Type == List && k.Valid == "+":
		return "a list with at least one item and no empty ones"
	case k.Type == List:
		return "a list without empty items"
	case k.Type == Int, k.Type == Short, k.Type == Long, k.Type == Double:
		return "a number of type " + k.Type.String()
	case k.Valid == "+":
		return "a text that is not empty"
	}
	return "a text"
}

func parseBool(text string) (bool, error) {
	switch {
	case strings.EqualFold(text, "true"):
		return true, nil
	case strings.EqualFold(text, "false"):
		return false, nil
	}
	return false, strconv.ErrSyntax
}

// parseDouble reads what Java's parser takes: a suffix that names the type is
// allowed, underscores are not.
func parseDouble(text string) (float64, error) {
	if n := len(text); n > 1 && strings.ContainsRune("dDfF", rune(text[n-1])) && !strings.ContainsAny(text, "xX") {
		text = text[:n-1]
	}
	if strings.ContainsAny(text, "_") {
		return 0, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) { // too large a number is infinite in Java
		return 0, err
	}
	return f, nil
}

// javaDouble prints a number as Java's Double.toString does: with at least one
// digit behind the point, and with an exponent below 0.001 and from 10,000,000 on.
func javaDouble(f float64) string {
	size := math.Abs(f)
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case math.IsNaN(f):
		return "NaN"
	case f == 0 || size >= 1e-3 && size < 1e7:
		return withPoint(strconv.FormatFloat(f, 'f', -1, 64))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	n, _ := strconv.Atoi(exponent) // FormatFloat wrote it
	return fmt.Sprintf("%sE%d", withPoint(mantissa), n)
}

func withPoint(digits string) string {
	if strings.Contains(digits, ".") {
		return digits
	}
	return digits + ".0"
}

// canonical is a value as DescribeConfigs tells it: read and written again. What
// cannot be read, what no file can say, and what nobody knows, stays as it is.
func (k *Key) canonical(text string) string {
	text = strings.TrimSpace(text)
	if k == nil || k.Scope == DynamicKey || k.Check(text) != nil {
		return text
	}
	switch k.Type {
	case Bool:
		return strings.ToLower(text)
	case Int, Short, Long:
		return strconv.FormatInt(number(text), 10)
	case Double:
		f, _ := parseDouble(text) // Check has read it
		return javaDouble(f)
	case List:
		return strings.Join(splitList(text), ",")
	}
	return text
}

// splitList cuts a list at its commas and the blanks around them; an empty text
// is an empty list.
func splitList(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// withoutDoubles drops the repeated items of a list; the first one stays.
func withoutDoubles(items []string) []string {
	kept := items[:0:0]
	for i, item := range items {
		seen := false
		for _, before := range items[:i] {
			seen = seen || before == item
		}
		if !seen {
			kept = append(kept, item)
		}
	}
	return kept
}
