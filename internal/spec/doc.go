// Package spec runs what stands in the folder spec/, the quorum as others would
// write it down: TLA+ with tla-checker and Promela with SPIN. Its tests (tag
// "spec", "make spec") demand that both know the toy's exact number of states,
// that every property holds, that each planted mistake is found, and that on
// shared scopes TLA+, SPIN and the explorer of the real core reach the same
// states.
package spec
