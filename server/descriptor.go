package server

import "sync/atomic"

// descriptor is the file descriptor of a connection for writes that do not wait.
// They go past package net, whose own way to a descriptor visits five objects on
// as many cache lines, for every write anew. What net guards against remains: a
// descriptor must not be closed, and its number given to another connection,
// while somebody is about to write to it.
type descriptor struct {
	number int
	state  atomic.Int32 // twice the number of users, and ended
}

const ended = 1

// use reports whether the descriptor may be used until unuse.
func (d *descriptor) use() bool {
	for {
		now := d.state.Load()
		if now&ended != 0 {
			return false
		}
		if d.state.CompareAndSwap(now, now+2) {
			return true
		}
	}
}

// unuse reports whether the caller has to close the connection: it ended
// meanwhile, and this was the last user.
func (d *descriptor) unuse() bool { return d.state.Add(-2) == ended }

// end refuses further users. It reports whether the caller has to close the
// connection; otherwise the last user will, or somebody has.
func (d *descriptor) end() bool {
	for {
		now := d.state.Load()
		if now&ended != 0 {
			return false
		}
		if d.state.CompareAndSwap(now, now|ended) {
			return now == 0
		}
	}
}
