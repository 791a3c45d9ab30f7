package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterScram answers AlterUserScramCredentials (KIP-554).
type alterScram struct{ controller *ctrlnode.Node }

func (h alterScram) route() Route { return later(0, 0, h.serve).on(OnController).forwarded() }

func (h alterScram) serve(_ Context, req *kmsg.AlterUserSCRAMCredentialsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Deletions) + len(req.Upsertions)); err != nil {
		reply(refusal(req, err))
		return
	}
	var want controller.ScramToAlter
	for _, d := range req.Deletions {
		want.Deletions = append(want.Deletions, controller.ScramDeletion{User: d.Name, Mechanism: auth.Mechanism(d.Mechanism)})
	}
	for _, u := range req.Upsertions {
		want.Upsertions = append(want.Upsertions, controller.ScramUpsertion{
			User: u.Name, Mechanism: auth.Mechanism(u.Mechanism), Iterations: u.Iterations, Salt: u.Salt, SaltedPassword: u.SaltedPassword,
		})
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, _ *controller.Soft) controller.Decision[[]controller.AlteredUser] {
		return controller.AlterScram(img, want)
	}, func(altered []controller.AlteredUser, err error) {
		if err != nil {
			reply(refusal(req, err))
			return
		}
		resp := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
		for _, a := range altered {
			resp.Results = append(resp.Results, kmsg.AlterUserSCRAMCredentialsResponseResult{
				User: a.User, ErrorCode: code(a.Err), ErrorMessage: kerr.Message(a.Err),
			})
		}
		reply(resp)
	})
}

// scramUsersIn are the users that a request names, each once.
func scramUsersIn(req *kmsg.AlterUserSCRAMCredentialsRequest) []string {
	var users []string
	for _, d := range req.Deletions {
		users = append(users, d.Name)
	}
	for _, u := range req.Upsertions {
		users = append(users, u.Name)
	}
	return distinct(users, itself)
}
