// Package txn decides for the partition's side of transactions: what a leader asks
// the coordinators of transactional producers (KIP-890), how questions share a
// request, and what producers are told of the answers.
//
// Desk collects questions and turns them into requests, one in flight for each
// coordinator. It never blocks, fails or looks at a clock; which broker coordinates,
// sending and waiting are left to drive/brokernode/txnverify.
package txn
