// Package batch reads, checks and builds record batches, format 2: the unit in
// which clients send, logs store and replicas copy records. It owns the byte
// layout, the checksum, the four codecs and the checks a leader makes before it
// appends. Where a batch is stored, and which producer may write it, is decided
// elsewhere. Formats 0 and 1 are not read: Kafka stopped writing them in 4.0.
// Checks pass over values while they are decompressed, and what must be in memory
// comes out of one budget, so small requests cannot ask for much.
//
//	 0  8 base offset          not covered by the checksum
//	 8  4 length               bytes after this field
//	12  4 leader epoch         not covered by the checksum
//	16  1 magic                2
//	17  4 crc                  CRC-32C over everything from byte 21
//	21  2 attributes           0-2 codec, 3 log append time, 4 transactional,
//	                           5 control, 6 base timestamp is a delete horizon
//	23  4 last offset delta
//	27  8 base timestamp
//	35  8 max timestamp
//	43  8 producer id          -1 none
//	51  2 producer epoch       -1 none
//	53  4 base sequence        -1 none
//	57  4 count of records
//	61    records              one compressed blob when there is a codec
package batch
