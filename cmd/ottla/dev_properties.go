package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/config"
)

// devReplicas is how many replicas a topic gets by default where there are so
// many nodes.
const devReplicas = 3

// properties are the settings of each node, as files would have them.
func (f *devFlags) properties() ([]string, error) {
	controllers, err := f.controllerPorts()
	if err != nil {
		return nil, err
	}
	var voters []string
	for i, port := range controllers {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, port))
	}
	var all []string
	for i, port := range controllers {
		lines, err := f.nodeProperties(i, port)
		if err != nil {
			return nil, err
		}
		lines = append(lines, "controller.quorum.voters="+strings.Join(voters, ","))
		all = append(all, strings.Join(lines, "\n")+"\n")
	}
	return all, nil
}

// nodeProperties are the settings of the i-th node, but for the quorum.
func (f *devFlags) nodeProperties(i, controller int) ([]string, error) {
	var dirs []string
	for n := range f.disks {
		dirs = append(dirs, filepath.Join(f.folder(i), diskName(n+1)))
	}
	port, replicas := strconv.Itoa(f.clientPort(i)), min(f.nodes, devReplicas)
	lines := []string{
		"process.roles=broker,controller",
		fmt.Sprintf("node.id=%d", i+1),
		"controller.listener.names=CONTROLLER",
		fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d", net.JoinHostPort(f.listen, port), controller),
		fmt.Sprintf("advertised.listeners=PLAINTEXT://%s", net.JoinHostPort(f.advertised(), port)),
		"log.dirs=" + escapeProperty(strings.Join(dirs, ",")),
		fmt.Sprintf("offsets.topic.replication.factor=%d", replicas),
		fmt.Sprintf("default.replication.factor=%d", replicas),
		// A group of one member should not wait for others while one develops.
		"group.initial.rebalance.delay.ms=0",
	}
	if f.metrics == "" {
		return lines, nil
	}
	metrics, err := f.metricsAddress(i)
	return append(lines, "ottla.metrics.listener="+metrics), err
}

// folder is where the i-th node has its data. A node alone has it at the top.
func (f *devFlags) folder(i int) string {
	if f.nodes == 1 {
		return f.data
	}
	return filepath.Join(f.data, nodeName(i+1))
}

func escapeProperty(value string) string { return strings.ReplaceAll(value, `\`, `\\`) }

// clientPort is the i-th node's port for clients. Each node takes two.
func (f *devFlags) clientPort(i int) int {
	if f.port == 0 {
		return 0
	}
	return f.port + 2*i
}

// controllerPorts are the ones beside the clients' ports, or free ones. Those
// are held until the nodes take them, so that nobody else does meanwhile.
func (f *devFlags) controllerPorts() ([]int, error) {
	highest := 65536 - 2*f.nodes
	if f.port < 0 || f.port > highest {
		return nil, fmt.Errorf("--port must be from 0 to %d, not %d", highest, f.port)
	}
	var ports []int
	for i := range f.nodes {
		if f.port > 0 {
			ports = append(ports, f.clientPort(i)+1)
			continue
		}
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		f.held = append(f.held, free)
		ports = append(ports, free.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// metricsAddress is that of the i-th node: the ports follow each other.
func (f *devFlags) metricsAddress(i int) (string, error) {
	host, port, err := net.SplitHostPort(f.metrics)
	if err != nil || i == 0 || port == "0" {
		return f.metrics, nil // a mistake is told when the settings are read
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return "", fmt.Errorf("--metrics: %q is not a port", port)
	}
	return net.JoinHostPort(host, strconv.Itoa(n+i)), nil
}

// advertised is the host clients are told: an address that means "all" is of
// no use to them.
func (f *devFlags) advertised() string {
	switch {
	case f.advertise != "":
		return f.advertise
	case config.Wildcard(f.listen):
		return "localhost"
	}
	return f.listen
}
