package group

import "github.com/ottla/ottla/internal/base/kafka"

// transactions are the offsets of transactions that have not ended, by producer.
type transactions map[kafka.ProducerID][]txnOffset

// txnOffset is an offset that counts when its transaction is committed.
type txnOffset struct {
	group string
	tp    kafka.TopicPartition
	value committedOffset
}

// hold keeps an offset back until its transaction ends.
func (t *transactions) hold(producer kafka.ProducerID, x txnOffset, at *offset) {
	if *t == nil {
		*t = make(transactions)
	}
	(*t)[producer] = append((*t)[producer], x)
	at.txns++
}

// end lets the offsets of a transaction count, or drops them.
func (t transactions) end(groups map[string]*classic, producer kafka.ProducerID, commit bool) {
	for _, x := range t[producer] {
		g := groups[x.group]
		if g == nil {
			continue // deleted since
		}
		at := g.offsets[x.tp]
		if at == nil {
			continue
		}
		at.txns = max(at.txns-1, 0)
		if commit {
			at.committedOffset, at.set = x.value, true
		}
		g.offsets.settle(x.tp, at)
	}
	delete(t, producer)
}
