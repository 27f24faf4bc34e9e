// Package load is the client side of the comparison: many WebSocket connections
// in one thread, which counts frames by their headers and looks at nothing else,
// so that the client is never what is measured.
package load
