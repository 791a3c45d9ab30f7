package metarec

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// dataVersion is the key of a quorum-state file that holds its version.
const dataVersion = "data_version"

// AppendQuorumState appends the text of a quorum-state file: one JSON object,
// no newline. Version 0 stands for kraft.version 0, version 1 for 1 and above.
func AppendQuorumState(dst []byte, state *QuorumStateData, version int16) ([]byte, error) {
	if version < state.MinVersion() || version > state.MaxVersion() {
		return dst, fmt.Errorf("quorum-state: %w %d", ErrVersion, version)
	}
	dst = AppendJSON(dst, state, version)
	dst = append(dst[:len(dst)-1], `,"`+dataVersion+`":`...)
	return append(strconv.AppendInt(dst, int64(version), 10), '}'), nil
}

// ReadQuorumState reads the text of a quorum-state file. A file without its
// version, of another version or without a field of its version is an error:
// who voted must never be guessed (KAFKA-15412).
func ReadQuorumState(text []byte) (state *QuorumStateData, version int16, err error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, 0, fmt.Errorf("quorum-state: %w: %v", ErrCorrupt, err)
	}
	if err := json.Unmarshal(keys[dataVersion], &version); err != nil {
		return nil, 0, fmt.Errorf("quorum-state: %w: no %s", ErrCorrupt, dataVersion)
	}
	state = NewQuorumStateData()
	if version < state.MinVersion() || version > state.MaxVersion() {
		return nil, version, fmt.Errorf("quorum-state: %w: %s is %d", ErrVersion, dataVersion, version)
	}
	needed := []string{"leaderId", "leaderEpoch", "votedId"}
	if version >= 1 {
		needed = append(needed, "votedDirectoryId")
	}
	for _, key := range needed {
		if value := string(keys[key]); value == "" || value == "null" {
			return nil, version, fmt.Errorf("quorum-state: %w: no %s", ErrCorrupt, key)
		}
	}
	if err := json.Unmarshal(text, state); err != nil {
		return nil, version, fmt.Errorf("quorum-state: %w: %v", ErrCorrupt, err)
	}
	return state, version, nil
}
