package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The bounds on connections that may stand under a listener's prefix.
const (
	maxConnections = "max.connections"
	creationRate   = "max.connection.creation.rate"
)

const (
	perIP          = "max.connections.per.ip"
	perIPOverrides = "max.connections.per.ip.overrides"
)

func ofConnections(key string) bool { return key == maxConnections || key == creationRate }

// boundsListener tells whether a name is listener.name.<listener>. and a bound on
// connections, with the listener in lower case as Kafka wants it.
func boundsListener(name string, k *Key) bool {
	listener := strings.TrimSuffix(strings.TrimPrefix(name, "listener.name."), "."+k.Name)
	return ofConnections(k.Name) && listener != "" && !strings.Contains(listener, ".") && listener == strings.ToLower(listener)
}

// MaxConnections is the bound of one listener's connections, and whether there
// is one.
func (c *Config) MaxConnections(listener string) (int, bool) {
	return c.ofListener(listener, maxConnections)
}

// ConnectionRate is how many connections may come to one listener in a second, and
// whether that is bounded.
func (c *Config) ConnectionRate(listener string) (int, bool) {
	return c.ofListener(listener, creationRate)
}

func (c *Config) ofListener(listener, key string) (int, bool) {
	text, set := c.text("listener.name." + strings.ToLower(listener) + "." + key)
	if !set {
		return 0, false
	}
	return int(number(trim(text))), true
}

// AddressBounds are how many connections single addresses may have, by their text as
// netip prints it (max.connections.per.ip.overrides).
func (c *Config) AddressBounds() map[string]int {
	all := map[string]int{}
	for _, item := range splitList(c.String(perIPOverrides)) {
		if addr, n, err := addressBound(item); err == nil {
			all[addr] = n
		}
	}
	return all
}

// addressBound reads address:number. An IPv6 address may stand in brackets.
func addressBound(item string) (addr string, n int, err error) {
	at := strings.LastIndexByte(item, ':')
	if at < 0 {
		return "", 0, fmt.Errorf("%q is not address:number", item)
	}
	ip, err := netip.ParseAddr(strings.Trim(strings.TrimSpace(item[:at]), "[]"))
	if err != nil {
		return "", 0, fmt.Errorf("%q has no IP address (a name can have several, so it is not taken)", item)
	}
	count, err := strconv.ParseInt(strings.TrimSpace(item[at+1:]), 10, 32)
	if err != nil || count < 0 {
		return "", 0, fmt.Errorf("%q has no number that is at least 0", item)
	}
	return ip.Unmap().String(), int(count), nil
}

// checkConnections keeps a bound from shutting everybody out by mistake, and wants
// bounds of single addresses to be readable.
func (l *loading) checkConnections() {
	for _, name := range l.keys() {
		k := lookupPrefixed(name)
		if k != nil && ofConnections(k.Name) && l.readable(name) && number(trim(l.config.set[name])) == 0 {
			l.fault(name, "0 lets nobody in; the least is 1")
		}
	}
	if l.readable(perIP, perIPOverrides) && l.config.Int(perIP) == 0 && l.config.String(perIPOverrides) == "" {
		l.fault(perIP, "can be 0 only if %s is set", perIPOverrides)
	}
	for _, item := range splitList(l.config.String(perIPOverrides)) {
		if _, _, err := addressBound(item); err != nil {
			l.fault(perIPOverrides, "%v", err)
		}
	}
}
