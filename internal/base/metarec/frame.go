package metarec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// frameVersion is the only version of the frame around metadata records.
const frameVersion = 1

// AppendMetadata appends the value of a metadata record: uvarint frame
// version, uvarint type, uvarint version, body. On an error dst comes back as
// it was.
func AppendMetadata(dst []byte, m Message, version int16) ([]byte, error) {
	framed := append(dst, frameVersion)
	framed = binary.AppendUvarint(framed, uint64(uint16(m.MessageType())))
	framed = binary.AppendUvarint(framed, uint64(uint16(version)))
	framed, err := m.AppendTo(framed, version)
	if err != nil {
		return dst, err
	}
	return framed, nil
}

// ReadMetadata reads the value of a metadata record.
func ReadMetadata(src []byte) (m Message, version int16, err error) {
	return readFrame("metadata", newMetadataRecord, src)
}

// ReadRemoteLog reads the value of a record of __remote_log_metadata, which
// AppendMetadata writes as well.
func ReadRemoteLog(src []byte) (m Message, version int16, err error) {
	return readFrame("remote log metadata", newRemotelogRecord, src)
}

func readFrame(what string, byType func(int16) Message, src []byte) (Message, int16, error) {
	var head [3]int16 // frame version, type, version
	for i := range head {
		v, n := binary.Uvarint(src)
		if n <= 0 || v > math.MaxInt16 {
			return nil, 0, fmt.Errorf("%s frame: %w: bad head", what, ErrCorrupt)
		}
		head[i], src = int16(v), src[n:]
	}
	if head[0] != frameVersion {
		return nil, 0, fmt.Errorf("%s frame: %w: frame version %d", what, ErrVersion, head[0])
	}
	m := byType(head[1])
	if m == nil {
		return nil, 0, fmt.Errorf("%s frame: %w %d", what, ErrUnknownType, head[1])
	}
	return m, head[2], m.ReadFrom(src, head[2])
}
