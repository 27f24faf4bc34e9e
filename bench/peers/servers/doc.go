// Package servers holds one small server program for each peer written in Go: it
// sends whatever its control connection tells it to publish to every subscriber.
// Each is written as its own documentation suggests.
package servers
