//go:build !linux

package node

import "log/slog"

func warnOpenFiles(*slog.Logger) {}
