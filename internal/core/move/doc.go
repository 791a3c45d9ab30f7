// Package move decides about replicas that move between the log directories of
// one broker (KIP-113, KIP-858): when the copy in the other directory may take the
// place of the one it was made from, what the controller must be told if it does
// not, up to where two copies agree, and what a start does with the copies that it
// finds. It is values; the copying is done by drive/brokernode.
package move
