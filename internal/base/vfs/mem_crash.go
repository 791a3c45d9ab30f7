package vfs

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Crash makes the disk that a loss of power at this moment leaves: only what
// was synced. The disk it is called on goes on, so that one run can be cut at
// many points. No lock is held on the new disk and its BootID is another.
func (m *Mem) Crash() *Mem { return m.crash(nil) }

// CrashTorn is Crash on a disk that had already written part of what was not
// synced: of the changes to folders a prefix in their order, of each file its
// synced bytes, or a part or all of the newer ones, a missing part reading as
// zeros or as the old bytes. The same seed leaves the same disk.
func (m *Mem) CrashTorn(seed uint64) *Mem { return m.crash(rand.New(rand.NewPCG(seed, 0x6f74746c61))) }

func (m *Mem) crash(rng *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &copier{rng: rng, made: map[*node]*node{}, folders: m.folders()}
	if rng != nil && len(m.pending) > 0 {
		for _, ch := range m.pending[:rng.IntN(len(m.pending)+1)] {
			for _, p := range ch.parts {
				c.folder(p.parent)[p.name] = p.child
			}
		}
	}
	return &Mem{root: c.copy(m.root), locks: map[string]bool{}, boot: processBootID(), clock: m.clock}
}

// folders gives a copy of every folder's durable entries. Folders that only a
// pending change names are added when it is applied.
func (m *Mem) folders() map[*node]map[string]*node {
	all := map[*node]map[string]*node{}
	var walk func(*node)
	walk = func(n *node) {
		if _, seen := all[n]; seen || !n.dir {
			return
		}
		entries := make(map[string]*node, len(n.durable))
		for name, child := range n.durable {
			entries[name] = child
		}
		all[n] = entries
		for _, child := range n.durable {
			walk(child)
		}
	}
	walk(m.root)
	return all
}

// copier builds the disk after a crash.
type copier struct {
	rng     *rand.Rand
	folders map[*node]map[string]*node
	made    map[*node]*node
}

func (c *copier) folder(n *node) map[string]*node {
	if c.folders[n] == nil {
		c.folders[n] = map[string]*node{}
		for name, child := range n.durable {
			c.folders[n][name] = child
		}
	}
	return c.folders[n]
}

func (c *copier) copy(n *node) *node {
	if done, ok := c.made[n]; ok {
		return done
	}
	if !n.dir {
		data := c.survivors(n)
		c.made[n] = &node{mod: n.mod, data: data, synced: slices.Clone(data)}
		return c.made[n]
	}
	out := newFolder(n.mod)
	c.made[n] = out
	entries := c.folder(n)
	names := make([]string, 0, len(entries))
	for name, child := range entries {
		if child != nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare) // the order in which rng is asked
	for _, name := range names {
		child := c.copy(entries[name])
		out.entries[name], out.durable[name] = child, child
	}
	return out
}

// survivors are the bytes of a file after the crash.
func (c *copier) survivors(n *node) []byte {
	if c.rng == nil {
		return slices.Clone(n.synced)
	}
	switch c.rng.IntN(4) {
	case 0: // nothing newer was written
		return slices.Clone(n.synced)
	case 1: // all was
		return slices.Clone(n.data)
	case 2: // the length was, and the bytes up to some point
		out := make([]byte, len(n.data))
		copy(out, n.synced)
		cut := n.dirtyLo + c.rng.IntN(max(len(n.data)-n.dirtyLo, 0)+1)
		copy(out, n.data[:min(cut, len(n.data))])
		return out
	}
	lo := min(n.dirtyLo, len(n.data))
	cut := lo + c.rng.IntN(len(n.data)-lo+1) // the file ends within the newer bytes
	out := slices.Clone(n.data[:cut])
	if cut < len(n.synced) {
		out = append(out, n.synced[cut:]...)
	}
	return out
}
