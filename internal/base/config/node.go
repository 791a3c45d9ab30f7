package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Voter is one entry of controller.quorum.voters.
type Voter struct {
	ID kafka.NodeID
	HostPort
}

// Node is what the settings say about this node's place in the cluster.
type Node struct {
	ID         kafka.NodeID
	Broker     bool
	Controller bool
	Rack       string

	Listeners  []Listener // all sockets to open, in the order of the file
	Advertised []Listener // of brokers, for clients and other brokers
	// AdvertisedControllers are the addresses other nodes reach this controller
	// by, in the order of ControllerNames.
	AdvertisedControllers []Listener
	InterBroker           string   // listener name brokers reach each other by
	ControllerNames       []string // controller.listener.names
	Protocols             map[string]string

	Voters    []Voter    // of a static quorum; empty in a dynamic one
	Bootstrap []HostPort // controllers to find the quorum by

	LogDirs     []string // as given, without doubles
	MetadataDir string
}

// IsControllerListener tells whether controllers use the listener of a name.
func (n *Node) IsControllerListener(name string) bool {
	return slices.Contains(n.ControllerNames, name)
}

// Node is what Load found out about this node; it is nil for a Config that
// New made.
func (c *Config) Node() *Node { return c.node }

// checkNode works out the node's place and notes what contradicts itself.
func (l *loading) checkNode() {
	n := &Node{
		Broker:     slices.Contains(l.config.List("process.roles"), "broker"),
		Controller: slices.Contains(l.config.List("process.roles"), "controller"),
		Rack:       l.config.String("broker.rack"),

		ControllerNames: l.config.List("controller.listener.names"),
		InterBroker:     strings.ToUpper(l.config.String("inter.broker.listener.name")),
	}
	l.config.node = n
	l.nodeID(n)
	l.quorum(n)
	l.dirs(n)
	if l.readable("listener.security.protocol.map", "listeners", "advertised.listeners", "controller.listener.names") && l.protocols(n) && l.listeners(n) {
		l.checkListeners(n)
		l.checkAdvertised(n)
		l.checkProtected(n)
	}
}

func (l *loading) nodeID(n *Node) {
	c := l.config
	if !l.readable("node.id", "broker.id") {
		return
	}
	n.ID = kafka.NodeID(c.Int("node.id"))
	switch {
	case !c.Has("node.id"):
		n.ID = kafka.NodeID(c.Int("broker.id"))
	case c.Has("broker.id") && c.Int("broker.id") != c.Int("node.id"):
		l.fault("broker.id", "is %d, but node.id is %d; they must agree, or remove broker.id", c.Int("broker.id"), n.ID)
	}
	if n.ID < 0 {
		l.fault("broker.id", "is %d; a node's id must be at least 0", n.ID)
	}
}

// quorum reads how the controllers are found. Kafka wants one of the two keys;
// an empty one counts as not set.
func (l *loading) quorum(n *Node) {
	if !l.readable("controller.quorum.voters", "controller.quorum.bootstrap.servers") {
		return
	}
	for _, item := range l.config.List("controller.quorum.voters") {
		v, err := parseVoter(item)
		if err != nil {
			l.fault("controller.quorum.voters", "%v", err)
			return
		}
		n.Voters = append(n.Voters, v)
	}
	for _, item := range l.config.List("controller.quorum.bootstrap.servers") {
		h, err := parseHostPort(item)
		if err != nil {
			l.fault("controller.quorum.bootstrap.servers", "%v", err)
			return
		}
		n.Bootstrap = append(n.Bootstrap, h)
	}
	for i, v := range n.Voters {
		if slices.ContainsFunc(n.Voters[:i], func(o Voter) bool { return o.ID == v.ID }) {
			l.fault("controller.quorum.voters", "names node %d twice", v.ID)
		}
	}
	if l.readable("process.roles", "node.id", "broker.id") {
		l.checkQuorum(n)
	}
}

// checkQuorum holds the quorum against the node's roles and id.
func (l *loading) checkQuorum(n *Node) {
	var ids []string
	for _, v := range n.Voters {
		ids = append(ids, strconv.Itoa(int(v.ID)))
	}
	voter := slices.ContainsFunc(n.Voters, func(v Voter) bool { return v.ID == n.ID })
	switch {
	case len(n.Voters) == 0 && len(n.Bootstrap) == 0:
		l.fault("controller.quorum.voters", "neither this key nor controller.quorum.bootstrap.servers names a controller; one must")
	case len(n.Voters) > 0 && n.Controller && !voter:
		l.fault("controller.quorum.voters", "has the voters %s but not node.id %d, although process.roles makes this node a controller", strings.Join(ids, ", "), n.ID)
	case voter && !n.Controller:
		l.fault("controller.quorum.voters", "has node.id %d as a voter, but process.roles does not make this node a controller", n.ID)
	}
	if l.readable("controller.quorum.auto.join.enable") && l.config.Bool("controller.quorum.auto.join.enable") && !n.Controller {
		l.fault("controller.quorum.auto.join.enable", "is only possible when process.roles holds controller")
	}
}

// parseVoter reads id@host:port.
func parseVoter(text string) (Voter, error) {
	id, address, ok := strings.Cut(text, "@")
	if !ok {
		return Voter{}, fmt.Errorf("%q is not of the form id@host:port", text)
	}
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil || n < 0 {
		return Voter{}, fmt.Errorf("%q: the id must be a number from 0, not %q", text, id)
	}
	h, err := parseHostPort(address)
	if err != nil {
		return Voter{}, err
	}
	if Wildcard(h.Host) {
		return Voter{}, fmt.Errorf("%q: nobody can connect to host %s", text, h.Host)
	}
	return Voter{kafka.NodeID(n), h}, nil
}

// dirs reads where the node keeps its data. The same text twice counts once;
// two spellings of one path are refused, for the disk would be counted twice.
func (l *loading) dirs(n *Node) {
	key := "log.dirs"
	if !l.config.Has(key) {
		key = "log.dir"
	}
	if !l.readable("log.dirs", "log.dir") {
		return
	}
	n.LogDirs = l.config.List(key)
	for i, dir := range n.LogDirs {
		for _, before := range n.LogDirs[:i] {
			if filepath.Clean(dir) == filepath.Clean(before) {
				l.fault(key, "%q and %q are the same directory", before, dir)
			}
		}
	}
	if n.MetadataDir = l.config.String("metadata.log.dir"); n.MetadataDir == "" && len(n.LogDirs) > 0 {
		n.MetadataDir = n.LogDirs[0]
	}
	l.checkCordoned(n.LogDirs)
}

// checkCordoned wants only directories that there are to be cordoned (KIP-1066).
func (l *loading) checkCordoned(dirs []string) {
	const key = "cordoned.log.dirs"
	if !l.readable(key) {
		return
	}
	for _, dir := range l.config.List(key) {
		if dir != "*" && !slices.Contains(dirs, dir) {
			l.fault(key, "%q is not in log.dirs or log.dir", dir)
		}
	}
}
