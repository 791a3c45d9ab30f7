// Package controller decides changes of a cluster's metadata: each function
// takes an image, what the active controller remembers beside it, and a
// request, and returns the records that are the change together with the
// reply. It writes nothing and waits for nothing; the runtime appends the
// records and sends the reply once they are committed and applied.
//
// One file holds one subject. Requests and replies are structs of this
// package: how they look on the wire is the business of package api.
package controller
