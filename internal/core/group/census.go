package group

// Census is how many groups and offsets there are.
type Census struct {
	States  [Dead + 1]int // groups by State
	Offsets int           // committed offsets
}

// Total is the number of groups.
func (c *Census) Total() int {
	n := 0
	for _, count := range c.States {
		n += count
	}
	return n
}

// Add adds up.
func (c *Census) Add(o Census) {
	for i := range c.States {
		c.States[i] += o.States[i]
	}
	c.Offsets += o.Offsets
}

// Census counts the groups of the classic protocol. It looks at each of them.
func (s *Shard) Census() Census {
	var c Census
	for _, g := range s.groups { // counting: any order will do
		c.States[g.state]++
		c.Offsets += len(g.offsets)
	}
	return c
}
