package wire

import (
	"encoding/binary"
	"fmt"
)

// keyApiVersions is the one API whose headers follow rules of their own.
const keyApiVersions = 18

// RequestHeader is what goes before the body of a request:
//
//	int16 key | int16 version | int32 correlation id | int16 length, client id (-1: null)
//
// and, where the version is flexible, a section of tagged fields (header v2).
type RequestHeader struct {
	Key, Version  int16
	CorrelationID int32
	ClientID      []byte // aliases the frame; nil when null
}

// ReadRequestHeader splits a frame without its length into header and body. A
// version newer than the schema is read with the header of the newest one: the
// answer to an unknown ApiVersions needs no more than that.
func ReadRequestHeader(frame []byte) (h RequestHeader, body []byte, err error) {
	if len(frame) < 10 {
		return h, nil, fmt.Errorf("%w: request of %d bytes has no header", ErrMalformed, len(frame))
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	n := int(int16(binary.BigEndian.Uint16(frame[8:])))
	body = frame[10:]
	if n > len(body) {
		return h, nil, fmt.Errorf("%w: client id of %d bytes ends after the frame", ErrMalformed, n)
	}
	if n >= 0 {
		h.ClientID, body = body[:n:n], body[n:]
	}
	if !FlexibleRequest(h.Key, h.Version) {
		return h, body, nil
	}
	body, err = skipTags(body)
	return h, body, err
}

// FlexibleRequest tells whether a request of this version has header v2, and
// its body compact lengths. Unknown keys have neither.
func FlexibleRequest(key, version int16) bool {
	m := find(&requests, key)
	return m != nil && version >= int16(m.flex)
}

// FlexibleResponseHeader tells whether the response has header v1. Those of
// ApiVersions never have, so that a client can read one of any version
// (KIP-511).
func FlexibleResponseHeader(key, version int16) bool {
	m := find(&responses, key)
	return m != nil && key != keyApiVersions && version >= int16(m.flex)
}

// Known gives the versions that the schema of a request describes.
func Known(key int16) (minVersion, maxVersion int16, ok bool) {
	m := find(&requests, key)
	if m == nil {
		return 0, 0, false
	}
	return int16(m.min), int16(m.max), true
}

// HoldsFrame tells whether a decoded request of this key may hold parts of the
// frame it was decoded from: record batches, SASL tokens, group metadata.
func HoldsFrame(key int16) bool {
	m := find(&requests, key)
	return m == nil || m.holdsBytes
}

// AppendRequestHeader appends the header of a request.
func AppendRequestHeader(dst []byte, h RequestHeader) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.CorrelationID))
	if h.ClientID == nil {
		dst = append(dst, 0xff, 0xff)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(h.ClientID)))
		dst = append(dst, h.ClientID...)
	}
	if FlexibleRequest(h.Key, h.Version) {
		dst = append(dst, 0)
	}
	return dst
}

// AppendResponseHeader appends the header of a response.
func AppendResponseHeader(dst []byte, key, version int16, correlationID int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if FlexibleResponseHeader(key, version) {
		dst = append(dst, 0)
	}
	return dst
}

// ReadCorrelationID reads the id that begins every response.
func ReadCorrelationID(frame []byte) (id int32, rest []byte, err error) {
	if len(frame) < 4 {
		return 0, nil, fmt.Errorf("%w: response of %d bytes has no header", ErrMalformed, len(frame))
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[4:], nil
}

// SkipResponseHeader skips what follows the correlation id of a response.
func SkipResponseHeader(rest []byte, key, version int16) (body []byte, err error) {
	if !FlexibleResponseHeader(key, version) {
		return rest, nil
	}
	return skipTags(rest)
}

func skipTags(src []byte) ([]byte, error) {
	w := walker{src: src, flexible: true}
	w.tags(nil)
	if w.bad != "" {
		return nil, fmt.Errorf("%w: header: %s", ErrMalformed, w.bad)
	}
	return w.src, nil
}
