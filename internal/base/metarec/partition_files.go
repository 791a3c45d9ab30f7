package metarec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Versions of the files beside a partition's segments.
const (
	producerSnapshotVersion = 1
	abortedTxnVersion       = 0
)

// AbortedTxnSize is the number of bytes of an entry of a .txnindex file.
const AbortedTxnSize = 34

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// snapshotSummed is where the bytes begin that the checksum of a producer
// snapshot covers: behind version and checksum.
const snapshotSummed = 6

// AppendProducerSnapshot appends a whole .snapshot file and sets the checksum,
// in the file and in s.
func AppendProducerSnapshot(dst []byte, s *ProducerSnapshot) []byte {
	start := len(dst)
	dst, err := appendVersioned(dst, s, producerSnapshotVersion)
	if err != nil {
		// Only a version or a string can be refused, and there is neither.
		panic(err)
	}
	file := dst[start:]
	s.Crc = crc32.Checksum(file[snapshotSummed:], castagnoli)
	binary.BigEndian.PutUint32(file[2:], s.Crc)
	return dst
}

// ReadProducerSnapshot reads a whole .snapshot file and checks its checksum.
func ReadProducerSnapshot(file []byte) (*ProducerSnapshot, error) {
	version, body, err := cutInt16(file)
	if err != nil {
		return nil, fmt.Errorf("producer snapshot: %w", err)
	}
	s := NewProducerSnapshot()
	if err := s.ReadFrom(body, version); err != nil {
		return nil, fmt.Errorf("producer snapshot: %w", err)
	}
	if sum := crc32.Checksum(file[snapshotSummed:], castagnoli); sum != s.Crc {
		return nil, fmt.Errorf("producer snapshot: %w: checksum is %08x, file says %08x", ErrCorrupt, sum, s.Crc)
	}
	return s, nil
}

// AppendAbortedTxn appends one entry of a .txnindex file, AbortedTxnSize bytes.
func AppendAbortedTxn(dst []byte, a AbortedTxn) []byte {
	dst, err := appendVersioned(dst, &a, abortedTxnVersion)
	if err != nil {
		panic(err) // as in AppendProducerSnapshot
	}
	return dst
}

// ReadAbortedTxn reads one entry of a .txnindex file.
func ReadAbortedTxn(entry []byte) (a AbortedTxn, err error) {
	version, body, err := cutInt16(entry)
	if err == nil {
		err = a.ReadFrom(body, version)
	}
	if err != nil {
		return a, fmt.Errorf("aborted transaction: %w", err)
	}
	return a, nil
}
