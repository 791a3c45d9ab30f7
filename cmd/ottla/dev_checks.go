package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/format"
)

// This file is what "ottla dev" looks at before it writes anything.

// devOwn are the keys that dev decides. The words it prints when it is ready
// rest on them.
var devOwn = [...]string{
	"log.dirs", "log.dir", "metadata.log.dir", "listeners", "advertised.listeners", "node.id", "broker.id",
	"process.roles", "controller.listener.names", "controller.quorum.voters", "controller.quorum.bootstrap.servers",
}

func (f *devFlags) refuseOverrides() error {
	for _, text := range f.overrides {
		key, _, _ := strings.Cut(text, "=")
		if key = strings.TrimSpace(key); slices.Contains(devOwn[:], key) {
			return fmt.Errorf("--override %s: ottla dev decides this itself (--data, --disks, --port, --listen and --advertise change what can be changed); "+
				"for anything else use ottla server with a file", key)
		}
	}
	return nil
}

func nodeName(number int) string { return "node" + strconv.Itoa(number) }

// sameNumber refuses a data folder that another number of nodes has used: they
// would be strangers to each other.
func (f *devFlags) sameNumber() error {
	alone, err := formattedDisks(f.data)
	if err != nil {
		return err
	}
	had := min(len(alone), 1)
	for more := had == 0; more; {
		disks, err := formattedDisks(filepath.Join(f.data, nodeName(had+1)))
		if err != nil {
			return err
		}
		if more = len(disks) > 0; more {
			had++
		}
	}
	if had == 0 || had == f.nodes {
		return nil
	}
	return fmt.Errorf("the nodes in %s are %d, not %d: start with --nodes %d, or name another folder with --data", f.data, had, f.nodes, had)
}

func diskName(number int) string { return "disk" + strconv.Itoa(number) }

// countDisks holds --disks against the disks that the folder has. Without the
// flag all are used. To leave one out is refused:
//  1. A node runs with three disks, and again with one.
//  2. It finds the replicas of the other two nowhere and makes them anew, empty.
//  3. With three disks again, it finds them twice and cannot start.
func (f *devFlags) countDisks(asked bool) error {
	var have []int
	for i := range f.nodes {
		disks, err := formattedDisks(f.folder(i))
		if err != nil {
			return err
		}
		have = append(have, disks...)
	}
	if !asked {
		f.disks = max(f.disks, slices.Max(append(have, 1)))
		return nil
	}
	var left []string
	for _, number := range have {
		if number > f.disks {
			left = append(left, diskName(number))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s has data on %s too, which --disks %d would leave out; start without --disks to use all of them", f.data, strings.Join(left, ", "), f.disks)
	}
	return nil
}

// formattedDisks are the numbers of the disks in a folder that are formatted, in
// order. One whose identity cannot be read counts: it may hold data.
func formattedDisks(data string) ([]int, error) {
	entries, err := os.ReadDir(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for disks: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		number, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "disk"))
		if err != nil || number < 1 || e.Name() != diskName(number) {
			continue
		}
		if found := format.Survey(vfs.OS{}, []string{filepath.Join(data, e.Name())})[0]; found.Meta != nil || found.Err != nil {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// portsAreFree tells early what the node would find out after its folder is
// formatted. Sockets that are open already are held for it.
func portsAreFree(c *config.Config, open map[string]net.Listener) error {
	for _, l := range c.Node().Listeners {
		if open[l.Name] != nil {
			continue
		}
		if err := isFree(l.Address()); err != nil {
			return fmt.Errorf("listener %s: %w", l, err)
		}
	}
	if at := c.String("ottla.metrics.listener"); at != "" {
		if err := isFree(at); err != nil {
			return fmt.Errorf("--metrics: %w", err)
		}
	}
	return nil
}

func isFree(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}
