package client

import (
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// What may wait for one iterator.
const (
	maxStreamFrames = 1024
	maxStreamBytes  = 16 << 20
)

// stream is what waits for one iterator.
type stream struct {
	sub  *Subscription
	wake chan struct{}

	mu      sync.Mutex
	event   *wire.Event // nil: all
	backlog bool        // no iterator has claimed it: it gives up quietly when full
	list    []waiting
	live    int // entries of list that are not gone
	bytes   int
	first   int            // place of list[0] in all that came
	latest  map[string]int // places of the newest of each key; nil until the stream was full
	ended   bool
	err     error
}

type waiting struct {
	id   uint32 // of the event: Delivery.Event is nil while nobody has named it
	gone bool   // a newer one of its key came
	nova.Delivery
}

// pushed is what became of a frame.
type pushed uint8

const (
	pushedWaits   pushed = iota
	pushedDropped        // its class allows that
	pushedEnded          // the stream takes nothing any more
)

func newStream(sub *Subscription, event *wire.Event, backlog bool) *stream {
	return &stream{sub: sub, wake: make(chan struct{}, 1), event: event, backlog: backlog}
}

// wants reports whether d is for this stream.
func (s *stream) wants(id uint32, d *nova.Delivery) bool {
	if d.Topic != s.sub.name && (d.Topic != "" || s.sub.named(d.Event)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended && (s.event == nil || s.event.ID == id)
}

// push adds d, whose payload nobody changes. When the stream is full the class
// of the event decides: the newest of a key replaces the one before, a frame
// that may be dropped is, and any other ends the stream.
func (s *stream) push(id uint32, d nova.Delivery) pushed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return pushedEnded
	}
	if s.event != nil && s.event.ID != id {
		return pushedWaits // claimed since it was asked whether it wants this
	}
	full := s.full(len(d.Payload))
	switch {
	case full && s.backlog:
		s.ended, s.list, s.live = true, nil, 0
		s.notify()
		return pushedEnded
	case full && d.Event != nil && d.Event.Delivery == wire.DeliverDrop:
		return pushedDropped
	case full || s.latest != nil:
		s.replace(d)
	}
	if s.full(len(d.Payload)) {
		s.ended, s.latest = true, nil
		s.err = nova.Errorf(nova.Exhausted, "topic %q: the consumer fell %d frames behind", s.sub.name, s.live)
		s.notify()
		return pushedEnded
	}
	s.list = append(s.list, waiting{id: id, Delivery: d})
	s.live++
	s.bytes += len(d.Payload)
	s.notify()
	return pushedWaits
}

func (s *stream) full(more int) bool {
	return s.live >= maxStreamFrames || s.live > 0 && s.bytes+more > maxStreamBytes
}

// replace takes out what waits with the key of d, which is about to be added.
func (s *stream) replace(d nova.Delivery) {
	key, ok := s.key(d)
	if !ok {
		return
	}
	if s.latest == nil || len(s.list) > 2*maxStreamFrames {
		s.compact()
	}
	if at, ok := s.latest[key]; ok && at >= s.first {
		s.remove(at - s.first)
	}
	s.latest[key] = s.first + len(s.list)
}

// compact keeps the newest of each key and indexes them.
func (s *stream) compact() {
	s.latest = map[string]int{}
	for i := range s.list {
		if s.list[i].gone {
			continue
		}
		if key, ok := s.key(s.list[i].Delivery); ok {
			if at, ok := s.latest[key]; ok {
				s.remove(at)
			}
			s.latest[key] = i
		}
	}
	kept := make([]waiting, 0, s.live+1)
	for _, w := range s.list {
		if w.gone {
			continue
		}
		if key, ok := s.key(w.Delivery); ok {
			s.latest[key] = len(kept)
		}
		kept = append(kept, w)
	}
	s.list, s.first = kept, 0
}

func (s *stream) remove(i int) {
	if w := &s.list[i]; !w.gone {
		s.live--
		s.bytes -= len(w.Payload)
		*w = waiting{gone: true}
	}
}

// key returns the key of a frame of which only the newest matters.
func (s *stream) key(d nova.Delivery) (string, bool) {
	schema := s.sub.c.router.schema
	if d.Event == nil || d.Event.Delivery != wire.DeliverLatest || schema == nil || schema.EventByID(d.Event.ID) != d.Event {
		return "", false
	}
	return schema.Key(d.Event, d.Payload)
}

// claim makes a backlog the stream of an iterator over event. It reports false
// when it has given up.
func (s *stream) claim(event *wire.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended && s.err == nil {
		return false
	}
	s.backlog, s.event = false, event
	if event != nil {
		kept := s.list[:0]
		for _, d := range s.list {
			if d.id == event.ID {
				d.Event = event
				kept = append(kept, d)
			} else {
				s.bytes -= len(d.Payload)
			}
		}
		clear(s.list[len(kept):])
		s.list, s.live = kept, len(kept) // a backlog has no gone ones
	}
	return true
}

// pop takes the next one. ended is true when none is left and none will come.
func (s *stream) pop() (d nova.Delivery, ok, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.list) > 0 {
		w := s.list[0]
		s.list[0] = waiting{}
		s.list = s.list[1:]
		s.first++
		if !w.gone {
			s.live--
			s.bytes -= len(w.Payload)
			return w.Delivery, true, false, nil
		}
	}
	s.latest = nil // the consumer has caught up
	return d, false, s.ended, s.err
}

// end lets nothing more in. Without a cause what waits is dropped, as nobody
// wants it any more; else it is yielded before the cause.
func (s *stream) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.err = true, cause
	if cause == nil {
		s.list, s.live = nil, 0
	}
	s.notify()
}

func (s *stream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
