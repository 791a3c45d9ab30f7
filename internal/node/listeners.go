package node

import (
	"fmt"
	"maps"
	"net"
	"os"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// listeners are the sockets that a node listens on.
type listeners struct {
	self  *config.Node
	bound map[string]net.Listener // by listener name
}

// bindListeners opens the sockets of all listeners that are not open yet;
// nothing is accepted.
func bindListeners(self *config.Node, open map[string]net.Listener) (*listeners, error) {
	l := &listeners{self: self, bound: map[string]net.Listener{}}
	maps.Copy(l.bound, open)
	for _, at := range self.Listeners {
		if l.bound[at.Name] != nil {
			continue
		}
		ln, err := net.Listen("tcp", at.Address())
		if err != nil {
			l.close()
			return nil, fmt.Errorf("listener %s: %w", at, err)
		}
		l.bound[at.Name] = ln
	}
	return l, nil
}

// close frees the sockets that no server has closed.
func (l *listeners) close() {
	for _, ln := range l.bound {
		_ = ln.Close() // the server has usually closed it
	}
}

// addresses are where the sockets listen, by listener name.
func (l *listeners) addresses() map[string]string {
	all := map[string]string{}
	for name, ln := range l.bound {
		all[name] = ln.Addr().String()
	}
	return all
}

// port is the port of a listener, which the system has chosen where the settings
// say 0.
func (l *listeners) port(of config.Listener) int {
	if of.Port != 0 || l.bound[of.Name] == nil {
		return of.Port
	}
	return l.bound[of.Name].Addr().(*net.TCPAddr).Port
}

// clients is where clients and other brokers reach this broker.
func (l *listeners) clients() []image.Endpoint { return l.advertised(l.self.Advertised) }

// controllers is where brokers and the quorum reach this controller.
func (l *listeners) controllers() []image.Endpoint { return l.advertised(l.self.AdvertisedControllers) }

// advertised is how others reach listeners. Where the settings leave the host
// open it is this machine's name, as in Kafka.
func (l *listeners) advertised(list []config.Listener) []image.Endpoint {
	var all []image.Endpoint
	for _, a := range list {
		e := image.Endpoint{Name: a.Name, Host: a.Host, Port: uint16(l.port(a)), Protocol: protocolNumber(a.Protocol)}
		if e.Host == "" {
			e.Host = hostname()
		}
		all = append(all, e)
	}
	return all
}

// serve lets a server accept on the listeners of controllers, or on all others.
func (l *listeners) serve(server *transport.Server, controllers bool, as transport.ListenerConfig) {
	for _, at := range l.self.Listeners {
		if l.self.IsControllerListener(at.Name) == controllers {
			as.Name = at.Name
			server.Serve(l.bound[at.Name], as).Start()
		}
	}
}

func protocolNumber(name string) int16 {
	switch name {
	case "SSL":
		return 1
	case "SASL_PLAINTEXT":
		return 2
	case "SASL_SSL":
		return 3
	}
	return 0
}

func hostname() string {
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}
