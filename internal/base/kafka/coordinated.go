package kafka

import "unicode/utf16"

// CoordinatedBy is the partition, out of n, whose leader coordinates a group or a
// transactional id: the absolute value of the id's Java hash, modulo n. The
// smallest hash has no absolute value and counts as 0.
func CoordinatedBy(id string, n int32) int32 {
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
