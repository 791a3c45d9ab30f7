package api

import (
	"regexp"
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// This node coordinates no transactions: there are none to list, and no
// transactional id is known.

// transactionStates are the names a filter may hold (KIP-664).
var transactionStates = []string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

func listTransactions(_ Context, req *kmsg.ListTransactionsRequest) kmsg.Response {
	resp := kmsg.NewPtrListTransactionsResponse()
	resp.UnknownStateFilters = []string{}
	resp.TransactionStates = []kmsg.ListTransactionsResponseTransactionState{}
	if p := req.TransactionalIDPattern; p != nil {
		if _, err := regexp.Compile(*p); err != nil {
			resp.ErrorCode = int16(kerr.InvalidRegularExpression)
			return resp
		}
	}
	for _, state := range req.StateFilters {
		if !slices.Contains(transactionStates, state) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, state)
		}
	}
	return resp
}

func describeTransactions(_ Context, req *kmsg.DescribeTransactionsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	resp.TransactionStates = []kmsg.DescribeTransactionsResponseTransactionState{}
	for _, id := range req.TransactionalIDs {
		t := kmsg.NewDescribeTransactionsResponseTransactionState()
		t.ErrorCode, t.TransactionalID = int16(kerr.TransactionalIdNotFound), id
		resp.TransactionStates = append(resp.TransactionStates, t)
	}
	return resp
}
