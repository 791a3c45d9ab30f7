package node

import (
	"testing"
	"testing/synctest"
	"time"
)

// Rule: who stops with others waits until the brokers of all have left, but not
// for ever, and needs no successor; who stops alone waits for nobody, and hands
// over.
func TestACompanyStopsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waited := func(c *Company) time.Duration {
			began := time.Now()
			c.await(stopGrace)
			return time.Since(began)
		}
		c := NewCompany(2)
		c.depart()
		if got := waited(c); got != stopGrace {
			t.Errorf("with a broker that stays it waits %v, want %v", got, stopGrace)
		}
		time.AfterFunc(time.Second, c.depart)
		if got := waited(c); got != time.Second {
			t.Errorf("it waits %v for a broker that leaves after a second", got)
		}
		var alone *Company
		alone.depart()
		if got := waited(alone); got != 0 {
			t.Errorf("alone it waits %v", got)
		}
		if company, single := c.handover(), alone.handover(); company != 0 || single != stopGrace {
			t.Errorf("the time for a successor is %v with others and %v alone", company, single)
		}
	})
}
