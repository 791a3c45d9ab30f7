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

func diskName(number int) string { return "disk" + strconv.Itoa(number) }

// countDisks holds --disks against the disks that the folder has. Without the
// flag all are used. To leave one out is refused:
//  1. A node runs with three disks, and again with one.
//  2. It finds the replicas of the other two nowhere and makes them anew, empty.
//  3. With three disks again, it finds them twice and cannot start.
func (f *devFlags) countDisks(asked bool) error {
	for i := range max(f.nodes, 1) {
		have, err := formattedDisks(f.folder(i))
		if err != nil {
			return err
		}
		if !asked {
			f.disks = max(f.disks, slices.Max(append(have, 1)))
			continue
		}
		if err := f.leavesNone(f.folder(i), have); err != nil {
			return err
		}
	}
	return nil
}

// leavesNone refuses --disks where a folder has more of them.
func (f *devFlags) leavesNone(folder string, have []int) error {
	var left []string
	for _, number := range have {
		if number > f.disks {
			left = append(left, diskName(number))
		}
	}
	if f.disks < 1 || len(left) == 0 {
		return nil // less than one is refused with the other flags
	}
	return fmt.Errorf("%s has data on %s too, which --disks %d would leave out; start without --disks to use all of them", folder, strings.Join(left, ", "), f.disks)
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
// formatted.
func (f *devFlags) portsAreFree(settings []*config.Config) error {
	for _, c := range settings {
		for _, l := range c.Node().Listeners {
			if err := isFree(l.Address()); err != nil {
				return fmt.Errorf("listener %s: %w", l, err)
			}
		}
		if at := c.String("ottla.metrics.listener"); at != "" {
			if err := isFree(at); err != nil {
				return fmt.Errorf("--metrics: %w", err)
			}
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
