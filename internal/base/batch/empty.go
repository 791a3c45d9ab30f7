package batch

import "encoding/binary"

// AppendEmpty appends what compaction leaves of a batch whose records are all
// gone but whose range of offsets, or whose producer's last sequence, is still
// needed: the header alone, without codec and with base timestamp -1.
func AppendEmpty(dst []byte, h Header) []byte {
	be := binary.BigEndian
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	out := dst[start:]
	be.PutUint64(out[atBaseOffset:], uint64(h.BaseOffset))
	be.PutUint32(out[atLength:], HeaderSize-Overhead)
	be.PutUint32(out[atLeaderEpoch:], uint32(h.LeaderEpoch))
	out[atMagic] = Magic
	be.PutUint16(out[atAttributes:], uint16(h.Attributes)&(bitLogAppendTime|bitTransactional|bitControl))
	be.PutUint32(out[atLastDelta:], uint32(h.LastOffsetDelta))
	noTimestamp := NoTimestamp
	be.PutUint64(out[atBaseTimestamp:], uint64(noTimestamp))
	be.PutUint64(out[atMaxTimestamp:], uint64(h.MaxTimestamp))
	be.PutUint64(out[atProducerID:], uint64(h.ProducerID))
	be.PutUint16(out[atProducerEpoch:], uint16(h.ProducerEpoch))
	be.PutUint32(out[atBaseSequence:], uint32(h.BaseSequence))
	seal(out)
	return dst
}
