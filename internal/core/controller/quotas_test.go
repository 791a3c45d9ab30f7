package controller

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// entity reads "user=u client-id=" as the parts of an entity; a part without a name is
// the default.
func entity(text string) []image.EntityPart {
	var parts []image.EntityPart
	for field := range strings.FieldsSeq(text) {
		kind, name, _ := strings.Cut(field, "=")
		part := image.EntityPart{Type: kind}
		if name != "" {
			part.Name = &name
		}
		parts = append(parts, part)
	}
	return parts
}

func limit(key string, value float64) QuotaOp { return QuotaOp{Key: key, Value: value} }

// setQuota sets one limit of an entity.
func (c *cluster) setQuota(of, key string, value float64) {
	c.t.Helper()
	d := AlterClientQuotas(c.img, QuotasToAlter{Changes: []QuotaChange{{Entity: entity(of), Ops: []QuotaOp{limit(key, value)}}}})
	refused(c.t, d.Reply[0].Err, kerr.None)
	do(c, d)
}

// Answers and their texts are those of Apache Kafka 4.4.
func TestQuotasAreRefusedEntityByEntity(t *testing.T) {
	c := newCluster(t)
	f := func(of, want string, ops ...QuotaOp) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			d := AlterClientQuotas(c.img, QuotasToAlter{ValidateOnly: dry, Changes: []QuotaChange{
				{Entity: entity(of), Ops: ops}, {Entity: entity("user=good"), Ops: []QuotaOp{limit("request_percentage", 50)}},
			}})
			code := kerr.InvalidRequest
			if want == "" {
				code = kerr.None
			}
			refused(t, d.Reply[0].Err, code, want)
			refused(t, d.Reply[1].Err, kerr.None)
			switch {
			case dry:
				wrote(t, d.Records)
			case want != "":
				wrote(t, d.Records, "ClientQuota") // of the good one
			}
		}
	}
	f("user=u", "", limit("producer_byte_rate", 1.0000001), limit("consumer_byte_rate", 7), limit("request_percentage", 1.5))
	f("user=u client-id=c", "", limit("controller_mutation_rate", 0.5))
	f("user= client-id=c", "", limit("controller_mutation_rate", 0.5))
	f("ip=1.2.3.4", "", limit("connection_creation_rate", 5))
	f("ip=", "", limit("connection_creation_rate", 5))
	f("user=u", "", QuotaOp{Key: "nokey", Remove: true})
	f("user=u", "producer_byte_rate cannot be a fractional value.", limit("producer_byte_rate", 1.5))
	f("user=u", "Quota producer_byte_rate must be greater than 0", limit("producer_byte_rate", 0))
	f("user=u", "Quota request_percentage must be greater than 0", limit("request_percentage", math.NaN()))
	f("user=u", "Proposed value for producer_byte_rate is too large for a LONG.", limit("producer_byte_rate", 1e19))
	f("user=u", "Invalid configuration key nokey", limit("nokey", 1))
	f("user=u", "Invalid configuration key connection_creation_rate", limit("connection_creation_rate", 5))
	f("user=u", "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})", limit("producer_byte_rate", 5), limit("producer_byte_rate", 6))
	f("ip=1.2.3.4", "connection_creation_rate cannot be a fractional value.", limit("connection_creation_rate", 5.5))
	f("ip=1.2.3.4", "Proposed value for connection_creation_rate is too large for an INT.", limit("connection_creation_rate", 3e9))
	f("ip=1.2.3.4", "Invalid configuration key producer_byte_rate", limit("producer_byte_rate", 5))
	f("user=u ip=1.2.3.4", "Invalid quota entity combination", limit("producer_byte_rate", 5))
	f("", "Invalid empty client quota entity", limit("producer_byte_rate", 5))
	f("x=u", "Unhandled client quota entity type: x", limit("producer_byte_rate", 5))

	empty := ""
	d := AlterClientQuotas(c.img, QuotasToAlter{Changes: []QuotaChange{{Entity: []image.EntityPart{{Type: "user", Name: &empty}}}}})
	refused(t, d.Reply[0].Err, kerr.InvalidRequest, "Empty user not supported")
	d = AlterClientQuotas(c.img, QuotasToAlter{Changes: []QuotaChange{{Entity: entity("ip=h"), Refused: kerr.InvalidRequest}}})
	refused(t, d.Reply[0].Err, kerr.InvalidRequest)
}

func TestAnEntityThatStandsTwiceIsRefusedOnce(t *testing.T) {
	c := newCluster(t)
	d := AlterClientQuotas(c.img, QuotasToAlter{Changes: []QuotaChange{
		{Entity: entity("user=u client-id=c"), Ops: []QuotaOp{limit("producer_byte_rate", 5)}},
		{Entity: entity("client-id=c user=u"), Ops: []QuotaOp{limit("consumer_byte_rate", 5)}},
	}})
	if len(d.Reply) != 1 {
		t.Fatalf("%d answers", len(d.Reply))
	}
	refused(t, d.Reply[0].Err, kerr.InvalidRequest, "duplicate entity", "client-id=c, user=u")
	wrote(t, d.Records)
}

// "Records only for real changes."
func TestOnlyLimitsThatChangeAreWritten(t *testing.T) {
	c := newCluster(t)
	f := func(want string, records int, ops ...QuotaOp) {
		t.Helper()
		d := AlterClientQuotas(c.img, QuotasToAlter{Changes: []QuotaChange{{Entity: entity("user=u"), Ops: ops}}})
		if len(d.Records) != records {
			t.Errorf("%d records, want %d", len(d.Records), records)
		}
		do(c, d)
		stored, _ := c.img.Quotas().Get(entityOf(entity("user=u")))
		got := ""
		for key, value := range stored.All() {
			got += fmt.Sprintf("%s=%v ", key, value)
		}
		if got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	gone := QuotaOp{Key: "producer_byte_rate", Remove: true}
	f("producer_byte_rate=5 ", 1, limit("producer_byte_rate", 5))
	f("producer_byte_rate=5 ", 0, limit("producer_byte_rate", 5))
	f("producer_byte_rate=6 request_percentage=1 ", 2, limit("producer_byte_rate", 6), limit("request_percentage", 1))
	f("request_percentage=1 ", 1, gone)
	f("request_percentage=1 ", 0, gone)
	f("", 1, QuotaOp{Key: "request_percentage", Remove: true})
	if c.img.Quotas().Len() != 0 {
		t.Error("an entity without limits is kept")
	}
}

// "Lookup, first match wins: (user, client-id), (user, default client), (user), (default
// user, client-id), (default user, default client), (default user), (client-id),
// (default client-id)."
func TestTheNearestMutationQuotaCounts(t *testing.T) {
	c := newCluster(t)
	order := []string{"client-id=", "client-id=c", "user=", "user= client-id=", "user= client-id=c", "user=u", "user=u client-id=", "user=u client-id=c"}
	for i, of := range order {
		c.setQuota(of, "request_percentage", 1) // no limit of this kind
		c.setQuota(of, mutationRateKey, float64(i+1))
		if _, rate, ok := mutationQuota(c.img, "u", "c"); !ok || rate != float64(i+1) {
			t.Errorf("with %s the rate is %v", of, rate)
		}
	}
	if target, rate, _ := mutationQuota(c.img, "v", "d"); rate != 4 || target.user != "v" || target.client != "d" {
		t.Errorf("another user and client have %v of %+v", rate, target)
	}
}

// The rule of KIP-599: a request is let in while there are tokens, and may take more
// than there are; then strict ones are refused until they are back. The figures are
// those that Apache Kafka 4.4 gives.
func TestMutationsSpendABudget(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.setQuota("client-id=c", mutationRateKey, 0.5) // 5.5 tokens in 11 seconds
	create := func(name string, partitions int32, strict, dry bool) (*Budget, error) {
		t.Helper()
		b := BudgetOf(c.img, c.soft, c.now, Mutator{Principal: "User:u", ClientID: "c", Strict: strict})
		d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{auto(name, partitions, 1)}, ValidateOnly: dry, Budget: b})
		return b, do(c, d)[0].Err
	}
	f := func(what string, b *Budget, err error, code kerr.Code, throttle time.Duration) {
		t.Helper()
		refused(t, err, code)
		if b.Throttle() != throttle {
			t.Errorf("%s: throttled for %v, want %v", what, b.Throttle(), throttle)
		}
	}
	b, err := create("a", 30, true, true)
	f("more than there is, and only tried", b, err, kerr.None, 0)
	b, err = create("b", 1, true, false)
	f("nothing left", b, err, kerr.ThrottlingQuotaExceeded, 49*time.Second)
	c.now = c.now.Add(time.Second)
	b, err = create("b", 1, true, false)
	f("a second later", b, err, kerr.ThrottlingQuotaExceeded, 48*time.Second)
	b, err = create("b", 1, false, false)
	f("an old client", b, err, kerr.None, 50*time.Second)
	c.now = c.now.Add(50 * time.Second)
	b, err = create("c", 2, true, false)
	f("when the tokens are back", b, err, kerr.None, 0)

	b = BudgetOf(c.img, c.soft, c.now, Mutator{ClientID: "c", Strict: true})
	more := CreatePartitions(c.img, c.soft, PartitionsToCreate{Topics: []MorePartitions{{Topic: "b", Count: 9}}, Budget: b})
	f("more partitions", b, more.Reply[0].Err, kerr.ThrottlingQuotaExceeded, 4*time.Second)
	b = BudgetOf(c.img, c.soft, c.now, Mutator{ClientID: "c", Strict: true})
	gone := DeleteTopics(c.img, c.soft, []TopicRef{{Name: "b"}}, b)
	f("a deletion", b, gone.Reply[0].Err, kerr.ThrottlingQuotaExceeded, 4*time.Second)
	wrote(t, gone.Records)
	b = BudgetOf(c.img, c.soft, c.now, Mutator{ClientID: "d", Strict: true})
	if b != nil {
		t.Error("a client without a quota has a budget")
	}
	c.now = c.now.Add(time.Hour)
	b = BudgetOf(c.img, c.soft, c.now, Mutator{ClientID: "c", Strict: true})
	if b.tokens != 5.5 {
		t.Errorf("%v tokens were saved up", b.tokens)
	}
}

func TestFullBucketsAreForgotten(t *testing.T) {
	c := newCluster(t)
	c.setQuota("client-id=", mutationRateKey, 1)
	for i := range maxBuckets {
		c.soft.spent[quotaTarget{client: fmt.Sprint(i), byClientID: true}] = bucket{tokens: float64(i % 2), at: c.now}
	}
	c.now = kafka.Instant(10500 * time.Millisecond)
	b := BudgetOf(c.img, c.soft, c.now, Mutator{ClientID: "new"})
	c.soft.keep(b)
	if n := len(c.soft.spent); n != maxBuckets/2+1 {
		t.Errorf("%d buckets are remembered", n)
	}
}
