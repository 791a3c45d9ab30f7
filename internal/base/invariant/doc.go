// Package invariant says what must hold. A broken invariant is our own fault,
// never a peer's or a disk's: the process stops instead of guessing.
package invariant
