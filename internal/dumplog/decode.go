package dumplog

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// Decoder tells what the records of a log mean.
type Decoder int

// The decoders. DecodeByFolder looks at the name of the partition's folder: the
// logs that Kafka keeps for itself are decoded, those of users are not.
const (
	DecodeByFolder Decoder = iota
	DecodeMetadata
	DecodeOffsets
	DecodeTransactions
	DecodeShareState
	DecodeRemoteLog
)

// decoderFor picks a decoder by the name of the folder that a file lies in, or
// by the name of the file where that tells as much.
func decoderFor(path string) Decoder {
	if _, ext := plainName(path); ext == ".checkpoint" {
		return DecodeMetadata
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return DecodeByFolder
	}
	topic := filepath.Base(filepath.Dir(absolute))
	topic, _, _ = strings.Cut(topic, ".") // topic-N.id-delete, -future or -stray
	if cut := strings.LastIndexByte(topic, '-'); cut >= 0 {
		topic = topic[:cut]
	}
	switch topic {
	case kafka.MetadataTopic:
		return DecodeMetadata
	case kafka.ConsumerOffsetsTopic:
		return DecodeOffsets
	case kafka.TransactionStateTopic:
		return DecodeTransactions
	case kafka.ShareGroupStateTopic:
		return DecodeShareState
	case kafka.RemoteLogMetadataTopic:
		return DecodeRemoteLog
	}
	return DecodeByFolder
}

// deleted is the text for a null value, which deletes its key.
const deleted = "<DELETE>"

var errNullKey = errors.New("key is null")

// decode returns key and value as JSON; a null value is the text deleted.
func (d Decoder) decode(key, value []byte) (json.RawMessage, json.RawMessage, error) {
	switch d {
	case DecodeMetadata:
		return framed(metarec.ReadMetadata(value))
	case DecodeRemoteLog:
		return framed(metarec.ReadRemoteLog(value))
	case DecodeTransactions:
		return coordinator(key, value, metarec.ReadTxnKey, metarec.ReadTxnValue)
	case DecodeShareState:
		return coordinator(key, value, metarec.ReadShareKey, metarec.ReadShareValue)
	}
	return coordinator(key, value, metarec.ReadGroupKey, metarec.ReadGroupValue)
}

func framed(m metarec.Message, version int16, err error) (json.RawMessage, json.RawMessage, error) {
	if err != nil {
		return nil, nil, err
	}
	head := `{"type":"` + upperSnake(m.MessageName()) + `","version":` + strconv.Itoa(int(version)) + `,"data":`
	return nil, append(metarec.AppendJSON([]byte(head), m, version), '}'), nil
}

// upperSnake turns RegisterBrokerRecord into REGISTER_BROKER_RECORD.
func upperSnake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToUpper(r))
	}
	return out.String()
}

// coordinator decodes a record of a coordinator's log. Kafka's tool prints the
// numbers of type and version as text; so do we.
func coordinator(
	key, value []byte,
	readKey func([]byte) (metarec.Message, error),
	readValue func(metarec.Message, []byte) (metarec.Message, int16, error),
) (json.RawMessage, json.RawMessage, error) {
	if key == nil {
		return nil, nil, errNullKey
	}
	k, err := readKey(key)
	if err != nil {
		return nil, nil, err
	}
	keyText := `{"type":"` + strconv.Itoa(int(k.MessageType())) + `","data":`
	keyJSON := append(metarec.AppendJSON([]byte(keyText), k, 0), '}')
	v, version, err := readValue(k, value)
	if err != nil {
		return nil, nil, err
	}
	if v == nil {
		return keyJSON, json.RawMessage(deleted), nil
	}
	valueText := `{"version":"` + strconv.Itoa(int(version)) + `","data":`
	return keyJSON, append(append([]byte(valueText), readable(v, version)...), '}'), nil
}
