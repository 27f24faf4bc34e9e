package client

import (
	"fmt"
	"sync"
)

// State is what a connection is doing.
type State uint8

// The states. A connection starts Idle and ends Closed.
const (
	Idle         State = iota // Connect was not called, or Pause was
	Connecting                // first attempt
	Connected                 // the server admitted this client
	Reconnecting              // lost; waiting or trying again
	Closed                    // for good
)

// String returns the state's name in lower case.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Connecting:
		return "connecting"
	case Connected:
		return "connected"
	case Reconnecting:
		return "reconnecting"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Status is a state and why it came to it.
type Status struct {
	State State
	// Err is the cause of Reconnecting or Closed, with a Code. It is nil after Close.
	Err error
}

// callbacks is a list of functions to call with a value. Functions added during
// a call are not called in it.
type callbacks[T any] struct {
	mu   sync.Mutex
	list []*func(T)
}

func (c *callbacks[T]) add(fn func(T)) (off func()) {
	if fn == nil {
		return func() {}
	}
	entry := &fn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list[:len(c.list):len(c.list)], entry)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = without(c.list, entry)
	}
}

func (c *callbacks[T]) call(v T, panicked func(any)) {
	c.mu.Lock()
	list := c.list
	c.mu.Unlock()
	for _, fn := range list {
		func() {
			defer func() {
				if p := recover(); p != nil {
					panicked(p)
				}
			}()
			(*fn)(v)
		}()
	}
}

// without returns a new list: the old one may be in use.
func without[E comparable](list []E, gone E) []E {
	kept := make([]E, 0, len(list))
	for _, e := range list {
		if e != gone {
			kept = append(kept, e)
		}
	}
	return kept
}

// Stats counts what one Conn has seen, over all its sockets.
type Stats struct {
	Connects      uint64 // times it was admitted
	Received      uint64 // application frames handed to handlers and iterators
	Undecodable   uint64 // messages that are no frame, and frames that do not verify
	Unknown       uint64 // frames of events that neither schema nor handlers know
	Duplicates    uint64 // numbered frames and topic offsets that came twice
	Missing       uint64 // numbers given up or declared missing, superseded ones apart
	Superseded    uint64 // numbers for which a newer value of the same key came
	Stray         uint64 // topic frames without a subscription, numbered ones before the session
	HandlerErrors uint64 // errors and panics of handlers
	Expired       uint64 // sent frames that waited longer than Queue.MaxAge
	Unconfirmed   uint64 // sent frames whose session was lost before they were acknowledged
}
