package client

import (
	"context"
	"iter"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// Subscription is an interest in one topic; see Conn.Subscribe. Its methods may
// be called from any goroutine.
type Subscription struct {
	c     *Conn
	name  string
	topic *topic // Conn.mu guards what it points to

	mu      sync.Mutex
	backlog *stream // collects for the first iterator, nil when taken
	open    map[*stream]bool
	ended   bool
	err     error // why, nil after Close
}

var _ nova.Subscription = (*Subscription)(nil)

func newSubscription(c *Conn, name string) *Subscription {
	s := &Subscription{c: c, name: name, open: map[*stream]bool{}}
	s.backlog = newStream(s, nil, true)
	s.open[s.backlog] = true
	c.router.addStream(s.backlog)
	return s
}

// Topic returns the topic's name.
func (s *Subscription) Topic() string { return s.name }

// Position returns the place in the topic's history up to which frames have
// been handed on; an iterator may be behind it and finds its own place in
// Delivery.Offset. The epoch is "" while the server has told none.
func (s *Subscription) Position() Position {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.topic.at
}

// Recovered reports whether the server has last confirmed that nothing is
// missing between the position asked for and what it sends.
func (s *Subscription) Recovered() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.topic.acked && s.topic.recovered
}

// Err returns why the server or the connection ended the subscription, nil
// while it lasts and after Close.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Frames iterates over the frames of one event (nil: of all) on this topic. It
// ends quietly when ctx ends or the subscription is closed; with an error when
// the server refused or ended the subscription and when the connection is closed.
//
// At most 1,024 frames (or 16 MiB) wait for the consumer. Then the delivery class
// of the event decides: with latest, which needs Options.Schema, a newer frame
// replaces the one of its key; with drop the frame is left out and OnGap called;
// any other ends the iterator with code Exhausted.
//
// The first iterator begins with what came since Subscribe, unless that is more
// than it may wait for; later ones begin with what comes next. Frames that the
// server sends without their topic are yielded where they may be of this one: all
// of a base server, those of events that are not retained, and any while nothing in
// this topic has had an offset, as in topics without history. Payloads may be kept
// but not changed.
func (s *Subscription) Frames(ctx context.Context, event *wire.Event) iter.Seq2[nova.Delivery, error] {
	return func(yield func(nova.Delivery, error) bool) {
		stream := s.stream(event)
		defer s.forget(stream)
		for ctx.Err() == nil {
			d, ok, ended, err := stream.pop()
			switch {
			case ok:
				if !yield(d, nil) {
					return
				}
			case ended:
				if err != nil {
					yield(nova.Delivery{}, err)
				}
				return
			default:
				select {
				case <-stream.wake:
				case <-ctx.Done():
				}
			}
		}
	}
}

// named reports whether the server says so when a frame of event is of this topic.
func (s *Subscription) named(event *wire.Event) bool {
	if event != nil && event.Retain == wire.RetainNone {
		return false
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.c.topicsOn && s.topic.at.Offset > 0
}

// Close ends the interest and its iterators; what they have not taken is lost.
// The topic is left with its last subscription. It may be called again and
// returns nil.
func (s *Subscription) Close() error {
	s.end(nil)
	s.c.leave(s)
	return nil
}

// stream returns a new iterator's stream, registered unless s has ended.
func (s *Subscription) stream(event *wire.Event) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.router.name(event)
	st := s.backlog
	s.backlog = nil
	if st == nil || !st.claim(event) {
		st = newStream(s, event, false)
		if s.ended {
			st.end(s.err)
			return st
		}
		s.open[st] = true
		s.c.router.addStream(st)
	}
	return st
}

func (s *Subscription) forget(st *stream) {
	s.c.router.removeStream(st)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, st)
}

func (s *Subscription) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.err = true, cause
	for st := range s.open {
		s.c.router.removeStream(st)
		st.end(cause)
	}
	clear(s.open)
}
