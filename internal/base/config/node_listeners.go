package config

import "slices"

// protocols reads the map from listener names to security protocols. While it
// is at its default, controller listeners are PLAINTEXT, unless the names show
// that somebody means SSL or SASL.
func (l *loading) protocols(n *Node) bool {
	var err error
	if n.Protocols, err = parseProtocols(l.config.List("listener.security.protocol.map")); err != nil {
		l.fault("listener.security.protocol.map", "%v", err)
		return false
	}
	if l.config.Has("listener.security.protocol.map") {
		return true
	}
	secure := func(name string) bool { return contains("SSL SASL_PLAINTEXT SASL_SSL", name) }
	if slices.ContainsFunc(n.ControllerNames, secure) || slices.ContainsFunc(l.config.List("listeners"), func(text string) bool {
		listener, err := parseListener(text)
		return err == nil && secure(listener.Name)
	}) {
		return true
	}
	for _, name := range n.ControllerNames {
		n.Protocols[name] = "PLAINTEXT"
	}
	return true
}

// listeners reads both lists of listeners.
func (l *loading) listeners(n *Node) bool {
	var ok, advertisedOK bool
	n.Listeners, ok = l.listenerList(n, "listeners")
	advertised, advertisedOK := l.listenerList(n, "advertised.listeners")
	if !ok || !advertisedOK {
		return false
	}
	set := l.config.Has("advertised.listeners")
	if !set {
		advertised = n.Listeners
	}
	for _, a := range advertised {
		if !n.IsControllerListener(a.Name) {
			n.Advertised = append(n.Advertised, a)
		}
	}
	for _, name := range n.ControllerNames {
		byName := func(x Listener) bool { return x.Name == name }
		if i := slices.IndexFunc(advertised, byName); set && i >= 0 {
			n.AdvertisedControllers = append(n.AdvertisedControllers, advertised[i])
		} else if i := slices.IndexFunc(n.Listeners, byName); i >= 0 {
			n.AdvertisedControllers = append(n.AdvertisedControllers, n.Listeners[i])
		}
	}
	return true
}

// listenerList reads one of the two lists: names differ, and each has a
// protocol.
func (l *loading) listenerList(n *Node, key string) (list []Listener, ok bool) {
	before := len(l.faults)
	for _, item := range l.config.List(key) {
		listener, err := parseListener(item)
		if err != nil {
			l.fault(key, "%v", err)
			continue
		}
		if slices.ContainsFunc(list, func(o Listener) bool { return o.Name == listener.Name }) {
			l.fault(key, "has the listener name %s twice", listener.Name)
			continue
		}
		if listener.Protocol = n.Protocols[listener.Name]; listener.Protocol == "" {
			l.fault(key, "no security protocol is defined for listener %s; add %s:PLAINTEXT (or another protocol) to listener.security.protocol.map, "+
				"or name it in controller.listener.names in the same letters", listener.Name, listener.Name)
			continue
		}
		list = append(list, listener)
	}
	return list, len(l.faults) == before
}

// checkListeners holds the sockets against the node's roles.
func (l *loading) checkListeners(n *Node) {
	l.checkPorts(n)
	if l.readable("process.roles") {
		l.checkRoles(n)
	}
	if len(n.ControllerNames) > 0 && n.Protocols[n.ControllerNames[0]] == "" {
		l.fault("controller.listener.names", "no security protocol is defined for listener %s; add it to listener.security.protocol.map", n.ControllerNames[0])
	}
	for _, name := range l.config.List("early.start.listeners") {
		known := slices.ContainsFunc(n.Listeners, func(x Listener) bool { return x.Name == name })
		if l.readable("early.start.listeners") && !known && !n.IsControllerListener(name) {
			l.fault("early.start.listeners", "%s is neither in listeners nor in controller.listener.names", name)
		}
	}
}

func (l *loading) checkPorts(n *Node) {
	for i, a := range n.Listeners {
		for _, b := range n.Listeners[:i] {
			if a.Port == b.Port && a.Port != 0 && !mayShare(a, b) {
				l.fault("listeners", "%s and %s have the same port %d", b.Name, a.Name, a.Port)
			}
		}
	}
}

// checkRoles wants the listeners that the roles need, and no others.
func (l *loading) checkRoles(n *Node) {
	ours := func(x Listener) bool { return n.IsControllerListener(x.Name) }
	others := func(x Listener) bool { return !ours(x) }
	switch {
	case n.Controller && !slices.ContainsFunc(n.Listeners, ours):
		l.fault("controller.listener.names", "%v: none of them is in listeners, although process.roles makes this node a controller", n.ControllerNames)
	case n.Controller && !n.Broker && slices.ContainsFunc(n.Listeners, others):
		i := slices.IndexFunc(n.Listeners, others)
		l.fault("listeners", "%s is not in controller.listener.names; with process.roles=controller all listeners must be", n.Listeners[i].Name)
	case n.Broker && !n.Controller && slices.ContainsFunc(n.Listeners, ours):
		i := slices.IndexFunc(n.Listeners, ours)
		l.fault("listeners", "%s is in controller.listener.names; with process.roles=broker a node does not open controllers' listeners", n.Listeners[i].Name)
	}
}

// checkAdvertised holds what a broker tells others against what it listens on,
// and finds the listener between brokers.
func (l *loading) checkAdvertised(n *Node) {
	if !n.Broker || !l.readable("process.roles") {
		return
	}
	if len(n.Advertised) == 0 {
		l.fault("advertised.listeners", "no listener is left for clients and brokers: all of listeners and advertised.listeners are in controller.listener.names")
		return
	}
	for _, a := range n.Advertised {
		if a.Host == "0.0.0.0" || a.Host == "::" {
			l.fault("advertised.listeners", "nobody can connect to %s; give %s a host that others can reach", a, a.Name)
		}
		if !slices.ContainsFunc(n.Listeners, func(x Listener) bool { return x.Name == a.Name }) {
			l.fault("advertised.listeners", "%s is not in listeners", a.Name)
		}
	}
	key := "inter.broker.listener.name"
	if !l.readable(key, "security.inter.broker.protocol") {
		return
	}
	if n.InterBroker != "" && l.config.Has("security.inter.broker.protocol") {
		l.fault(key, "is set together with security.inter.broker.protocol; only one of them may be")
	}
	if n.InterBroker == "" {
		key, n.InterBroker = "security.inter.broker.protocol", l.config.String("security.inter.broker.protocol")
	}
	if !slices.ContainsFunc(n.Advertised, func(x Listener) bool { return x.Name == n.InterBroker }) {
		l.fault(key, "%s is not a listener in advertised.listeners (allowed: %s)", n.InterBroker, names(n.Advertised))
	}
}

func names(list []Listener) string {
	text := ""
	for i, x := range list {
		if i > 0 {
			text += ", "
		}
		text += x.Name
	}
	return text
}

// checkProtected refuses listeners that ought to be protected: this release
// would serve them in the open.
func (l *loading) checkProtected(n *Node) {
	if l.opt.Offline {
		return
	}
	key := "listener.security.protocol.map"
	if !l.config.Has(key) {
		key = "listeners"
	}
	for i, x := range n.Listeners {
		switch {
		case x.Protocol == "PLAINTEXT":
		case slices.Contains(l.opt.IgnoreUnsupported, key):
			l.warn(key, "listener %s is served as PLAINTEXT instead of %s, as --ignore-unsupported asks", x.Name, x.Protocol)
			n.Listeners[i].Protocol = "PLAINTEXT"
		default:
			l.fault(key, "listener %s wants %s, which this release does not have (allowed: PLAINTEXT); to serve it unprotected, start with --ignore-unsupported %s", x.Name, x.Protocol, key)
		}
	}
}
