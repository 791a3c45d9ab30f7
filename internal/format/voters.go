package format

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Voter is one of the first voters of a dynamic quorum (KIP-853).
type Voter struct {
	kafka.ReplicaKey
	Host string
	Port uint16
}

// ParseVoters reads what --initial-controllers takes:
// id@host:port:directoryId,... with brackets around an IPv6 host.
func ParseVoters(text string) ([]Voter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, refuse("No voters given: --initial-controllers wants id@host:port:directoryId,...")
	}
	var voters []Voter
	for item := range strings.SplitSeq(text, ",") {
		v, err := parseVoter(strings.TrimSpace(item))
		if err != nil {
			return nil, fmt.Errorf("--initial-controllers: %q: %w", item, err)
		}
		for _, before := range voters {
			if before.Node == v.Node {
				return nil, refuse("Node id %d was specified more than once.", v.Node)
			}
			if before.Dir == v.Dir {
				return nil, refuse("Directory id %s was specified more than once.", v.Dir)
			}
		}
		voters = append(voters, v)
	}
	return voters, nil
}

func parseVoter(text string) (Voter, error) {
	id, rest, ok := strings.Cut(text, "@")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon < 0 {
		return Voter{}, fmt.Errorf("want id@host:port:directoryId")
	}
	node, err := strconv.ParseInt(id, 10, 32)
	if err != nil || node < 0 {
		return Voter{}, fmt.Errorf("the node id must be a number from 0, not %q", id)
	}
	dir, err := kafka.ParseUUID(rest[colon+1:])
	if err != nil {
		return Voter{}, refuse("Failed to parse directory ID in dynamic voter string: %v", err)
	}
	if dir.Reserved() {
		return Voter{}, fmt.Errorf("directory id %s is reserved", dir)
	}
	host, portText, err := net.SplitHostPort(rest[:colon])
	if err != nil || host == "" {
		return Voter{}, fmt.Errorf("want id@host:port:directoryId")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return Voter{}, fmt.Errorf("the port must be a number from 0 to 65535, not %q", portText)
	}
	return Voter{kafka.ReplicaKey{Node: kafka.NodeID(node), Dir: dir}, host, uint16(port)}, nil
}
