package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Listener is one entry of listeners or advertised.listeners.
type Listener struct {
	Name     string // upper case
	Host     string // without brackets; empty listens on every address
	Port     int    // 0 lets the system choose
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
}

// Address is host:port, with brackets around an IPv6 host.
func (l Listener) Address() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

func (l Listener) String() string { return l.Name + "://" + l.Address() }

// HostPort is an address to connect to.
type HostPort struct {
	Host string // without brackets
	Port int
}

func (h HostPort) String() string { return net.JoinHostPort(h.Host, strconv.Itoa(h.Port)) }

// parseListener reads NAME://host:port. The host may be empty, and an IPv6 one
// may do without its brackets, as in Kafka.
func parseListener(text string) (Listener, error) {
	name, address, ok := strings.Cut(text, "://")
	colon := strings.LastIndexByte(address, ':')
	if !ok || name == "" || colon < 0 {
		return Listener{}, fmt.Errorf("%q is not of the form NAME://host:port", text)
	}
	port, err := parsePort(address[colon+1:])
	if err != nil {
		return Listener{}, fmt.Errorf("%q: %v", text, err)
	}
	host, err := parseHost(address[:colon])
	if err != nil {
		return Listener{}, fmt.Errorf("%q: %v", text, err)
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: port}, nil
}

// parseHostPort reads host:port, where the host must not be empty.
func parseHostPort(text string) (HostPort, error) {
	colon := strings.LastIndexByte(text, ':')
	if colon <= 0 {
		return HostPort{}, fmt.Errorf("%q is not of the form host:port", text)
	}
	port, err := parsePort(text[colon+1:])
	if err != nil {
		return HostPort{}, fmt.Errorf("%q: %v", text, err)
	}
	host, err := parseHost(text[:colon])
	switch {
	case err != nil:
		return HostPort{}, fmt.Errorf("%q: %v", text, err)
	case host == "":
		return HostPort{}, fmt.Errorf("%q is not of the form host:port", text)
	}
	return HostPort{host, port}, nil
}

func parsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("the port must be a number from 0 to 65535, not %q", text)
	}
	return int(port), nil
}

// parseHost takes the brackets off an IPv6 host and refuses letters that no
// host has.
func parseHost(text string) (string, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return "", fmt.Errorf("the host %q has no closing bracket", "["+inner)
		}
	}
	for _, c := range []byte(text) {
		ok := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._:%", c) >= 0
		if !ok {
			return "", fmt.Errorf("the host %q has a %q", text, c)
		}
	}
	return text, nil
}

// Wildcard tells whether a host stands for all addresses of a machine, which
// nobody can connect to.
func Wildcard(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }

// parseProtocols reads NAME:PROTOCOL pairs.
func parseProtocols(items []string) (map[string]string, error) {
	protocols := make(map[string]string, len(items))
	for _, item := range items {
		name, protocol, pair := strings.Cut(item, ":")
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		switch {
		case !pair:
			return nil, fmt.Errorf("%q is not of the form LISTENER:PROTOCOL", item)
		case !contains("PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL", protocol):
			return nil, fmt.Errorf("%q names no security protocol (allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)", item)
		}
		protocols[strings.ToUpper(strings.TrimSpace(name))] = protocol
	}
	return protocols, nil
}

// mayShare tells whether two listeners can have one port: one host is an IPv4
// address and the other an IPv6 one.
func mayShare(a, b Listener) bool {
	ipA, ipB := net.ParseIP(a.Host), net.ParseIP(b.Host)
	return ipA != nil && ipB != nil && (ipA.To4() == nil) != (ipB.To4() == nil)
}
