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
	bytes   int
	ended   bool
	err     error
}

type waiting struct {
	id uint32 // of the event: Delivery.Event is nil while nobody has named it
	nova.Delivery
}

func newStream(sub *Subscription, event *wire.Event, backlog bool) *stream {
	return &stream{sub: sub, wake: make(chan struct{}, 1), event: event, backlog: backlog}
}

// wants reports whether d is for this stream. exact: the server names topics.
func (s *stream) wants(id uint32, d *nova.Delivery, exact bool) bool {
	if d.Topic != s.sub.name && (exact || d.Topic != "") {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended && (s.event == nil || s.event.ID == id)
}

// push adds d, whose payload nobody changes. It reports false when the stream
// takes nothing any more.
func (s *stream) push(id uint32, d nova.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	if len(s.list) >= maxStreamFrames || len(s.list) > 0 && s.bytes+len(d.Payload) > maxStreamBytes {
		s.ended = true
		if s.backlog {
			s.list = nil
		} else {
			s.err = nova.Errorf(nova.Exhausted, "topic %q: the consumer fell %d frames behind", s.sub.name, len(s.list))
		}
		s.notify()
		return false
	}
	s.list = append(s.list, waiting{id, d})
	s.bytes += len(d.Payload)
	s.notify()
	return true
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
		s.list = kept
	}
	return true
}

// pop takes the next one. ended is true when none is left and none will come.
func (s *stream) pop() (d nova.Delivery, ok, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return d, false, s.ended, s.err
	}
	d = s.list[0].Delivery
	s.list[0] = waiting{}
	s.list = s.list[1:]
	s.bytes -= len(d.Payload)
	return d, true, false, nil
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
		s.list = nil
	}
	s.notify()
}

func (s *stream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
