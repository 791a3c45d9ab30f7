package sim

import (
	"fmt"
	"time"
)

// delayScenes are about messages that take long, or get lost on the way and are
// sent again.
func delayScenes() []Scene {
	all := []Scene{{
		Name: "loss-of-20-percent", Voters: 3, Least: 0, Most: 2, Mostly: true,
		What: "for a minute each message is lost with 20 %, and sent again 200 ms later",
		Play: func(s *Stage) {
			w := s.w
			w.chaos, w.plan.Active[Resent], w.plan.Resent = true, true, 200
			s.live(time.Minute)
			w.chaos = false
			s.calm()
		},
	}}
	for _, voters := range []int{3, 5} {
		for _, l := range losses() {
			all = append(all, Scene{
				Name: fmt.Sprintf("any-delay-%s-%d", l.name, voters), Voters: voters, Least: 1, Most: 3,
				What: fmt.Sprintf("the leader %s while messages take up to a quarter of a second", l.what),
				Play: func(s *Stage) {
					s.w.plan.Far = s.upTo(250 * time.Millisecond)
					leader := s.leader()
					s.live(s.upTo(5 * time.Second))
					l.happens(s, leader)
					s.awaitLeaderOf(s.without(leader))
					s.live(3 * time.Second)
				},
			})
		}
	}
	return all
}
