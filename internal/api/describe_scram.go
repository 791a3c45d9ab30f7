package api

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeScram answers DescribeUserScramCredentials (KIP-554): who has which
// credentials, never the credentials.
type describeScram struct{ view View }

func (d describeScram) serve(_ Context, req *kmsg.DescribeUserSCRAMCredentialsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	resp.Results = []kmsg.DescribeUserSCRAMCredentialsResponseResult{}
	users, byUser := scramUsers(d.view.Image())
	if len(req.Users) == 0 {
		for _, user := range users {
			resp.Results = append(resp.Results, scramResult(user, byUser[user], nil))
		}
		return resp
	}
	asked := map[string]int{}
	for _, u := range req.Users {
		asked[u.Name]++
	}
	for _, u := range req.Users {
		n := asked[u.Name]
		delete(asked, u.Name)
		switch {
		case n == 0: // answered already
		case n > 1:
			resp.Results = append(resp.Results, scramResult(u.Name, nil, kerr.Errorf(kerr.DuplicateResource,
				"Cannot describe SCRAM credentials for the same user twice in a single request: %s", u.Name)))
		case len(byUser[u.Name]) == 0:
			resp.Results = append(resp.Results, scramResult(u.Name, nil, kerr.Errorf(kerr.ResourceNotFound,
				"Attempt to describe a user credential that does not exist: %s", u.Name)))
		default:
			resp.Results = append(resp.Results, scramResult(u.Name, byUser[u.Name], nil))
		}
	}
	return resp
}

type scramInfo = kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo

func scramUsers(img *image.Image) (users []string, byUser map[string][]scramInfo) {
	byUser = map[string][]scramInfo{}
	for key, cred := range img.Scram().All() {
		if byUser[key.User] == nil {
			users = append(users, key.User)
		}
		byUser[key.User] = append(byUser[key.User], scramInfo{Mechanism: key.Mechanism, Iterations: cred.Iterations})
	}
	slices.Sort(users)
	return users, byUser
}

func scramResult(user string, infos []scramInfo, err error) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	r := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	r.User, r.CredentialInfos = user, infos
	r.ErrorCode, r.ErrorMessage = int16(kerr.Of(err)), kerr.Message(err)
	return r
}
