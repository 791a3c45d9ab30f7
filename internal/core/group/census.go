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
