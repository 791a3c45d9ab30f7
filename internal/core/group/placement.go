package group

import "unicode/utf16"

// PartitionFor is the partition of __consumer_offsets, out of n, that holds a
// group: the absolute value of the id's Java hash, modulo n. The smallest hash
// has no absolute value and counts as 0.
func PartitionFor(id string, n int32) int32 {
	h := javaHash(id)
	switch {
	case h == -1<<31:
		h = 0
	case h < 0:
		h = -h
	}
	return h % n
}

// javaHash is String.hashCode of Java: over UTF-16 units, in 32 bits.
func javaHash(s string) int32 {
	var h int32
	for _, r := range s {
		if hi, lo := utf16.EncodeRune(r); r > 0xffff {
			h = 31*(31*h+hi) + lo
		} else {
			h = 31*h + r
		}
	}
	return h
}

// utf16Len is the length of a string as Java counts it.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
