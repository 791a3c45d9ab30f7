package transport

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// noDeadline clears the deadlines of a connection.
var noDeadline time.Time

// askVersion is the ApiVersions version we begin with. Newer ones tell the
// server which node we mean to reach (KIP-1242), which a bootstrap address
// does not know.
const askVersion = 4

// negotiate asks the other side for its versions. One that is older than our
// question answers in the oldest form and names the version it would
// understand (KIP-511); it is asked again at that one.
func (l *link) negotiate(conn net.Conn, frames *frameReader) (map[int16]versionRange, error) {
	version := int16(askVersion)
	for range 2 {
		resp, err := l.ask(conn, frames, version)
		if err != nil {
			return nil, err
		}
		switch kerr.Code(resp.ErrorCode) {
		case kerr.None:
			return ranges(resp), nil
		case kerr.UnsupportedVersion:
			version = min(version, ranges(resp)[resp.Key()].max)
		default:
			return nil, fmt.Errorf("ApiVersions: %w", kerr.Code(resp.ErrorCode))
		}
	}
	return nil, fmt.Errorf("ApiVersions: %w", kerr.UnsupportedVersion)
}

func (l *link) ask(conn net.Conn, frames *frameReader, version int16) (*kmsg.ApiVersionsResponse, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(version)
	req.ClientSoftwareName, req.ClientSoftwareVersion = l.cfg.SoftwareName, l.cfg.SoftwareVersion
	if _, err := conn.Write(appendRequest(nil, req, 0, l.cfg.ClientID)); err != nil {
		return nil, err
	}
	size, err := frames.head()
	if err != nil {
		return nil, err
	}
	frame, err := frames.body(size)
	if err != nil {
		return nil, err
	}
	id, body, err := wire.ReadCorrelationID(frame.b)
	if err != nil || id != 0 || len(body) < 2 {
		return nil, fmt.Errorf("%w: no answer to ApiVersions", wire.ErrMalformed)
	}
	if kerr.Code(binary.BigEndian.Uint16(body)) == kerr.UnsupportedVersion {
		version = 0
	}
	resp, err := decodeResponse(kmsg.NewPtrApiVersionsResponse(), req.Key(), version, body)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.ApiVersionsResponse), nil
}

func ranges(resp *kmsg.ApiVersionsResponse) map[int16]versionRange {
	m := make(map[int16]versionRange, len(resp.ApiKeys))
	for _, k := range resp.ApiKeys {
		m[k.ApiKey] = versionRange{k.MinVersion, k.MaxVersion}
	}
	return m
}
