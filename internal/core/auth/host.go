package auth

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// hostFits tells whether a rule's host is an address: the same text, the wildcard, or a
// network that the address is in (KIP-1276).
func hostFits(rule, host string) bool {
	if rule == wildcard || rule == host {
		return true
	}
	network, err := ParseNetwork(rule)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && network.Contains(addr.Unmap().WithZone(""))
}

// IsNetwork tells whether a rule's host is meant as a network.
func IsNetwork(host string) bool { return strings.Contains(host, "/") }

// ParseNetwork reads an address and the length of its prefix, "10.0.0.0/8". Bits behind
// the prefix do not matter.
func ParseNetwork(text string) (netip.Prefix, error) {
	address, length, found := strings.Cut(text, "/")
	addr, err := netip.ParseAddr(address)
	bits, bad := strconv.ParseUint(length, 10, 8)
	switch {
	case !found || err != nil || bad != nil || addr.Zone() != "":
		return netip.Prefix{}, kafkasText("Could not parse [" + text + "]")
	case int(bits) > addr.BitLen():
		return netip.Prefix{}, kafkasText(fmt.Sprintf("Value [%d] not in range [0,%d]", bits, addr.BitLen()))
	}
	return netip.PrefixFrom(addr, int(bits)).Masked(), nil
}

// kafkasText is an error in Apache Kafka's words, which begin as a sentence does.
type kafkasText string

// Error is the text.
func (t kafkasText) Error() string { return string(t) }
