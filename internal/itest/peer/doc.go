// Package peer has clusters whose nodes are of both kinds, ours and Apache
// Kafka's, of any release that scripts/deps.sh installs: how they are laid out,
// formatted, started, hurt and looked at, what was acknowledged to clients, and
// the runner of the cells of the matrix. What a cell does stands in package
// interop.
//
// Each node has a host of its own in a network of namespaces, and one more host
// is where clients and tools run. A node is told what to do in the same words
// whatever its kind, and goes on as the other kind on the same folders.
package peer
