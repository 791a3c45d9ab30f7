// Package transport carries Kafka's frames: listeners and their limits,
// connections that answer in the order of the requests, replies that leave
// straight from a file, and clients to other nodes. It knows how a request is
// framed, bounded and decoded; what a request means, which versions are served
// and who may send them is decided by the Routes it is given.
//
// Two goroutines serve a connection. The reader reads a frame, decodes it and
// calls the handler; the writer sends the replies in order. The reader starts
// the next request as soon as the handler returned, which handlers do when the
// effect of the request is done: a fetch that is parked leaves the connection
// free for a produce behind it. At most 16 requests, or what the listener says,
// and maxReplyBytes bytes of replies wait on a connection; then the reader stops
// reading, and the client is held back by TCP.
package transport
