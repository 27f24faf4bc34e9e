package hub

import "context"

// pressure tells when the unsent part of a queue crosses its marks: high above
// three quarters of a bound, low below one quarter of both.
//
// Invariant: crossed counts the crossings, so an odd count is high; it is at most
// two ahead of told, as a hook that is slower than the queue misses pairs only.
type pressure struct {
	crossed, told uint8
	queued        bool // a task tells
}

// cross looks at the queue and reports whether a task is to be queued for what it
// found. It allocates nothing and takes no lock; the caller holds s.mu.
func (s *Session) cross() bool {
	o := &s.hub.options
	if o.OnPressure == nil {
		return false
	}
	p, most := &s.pressure, o.Backpressure
	frames, bytes := s.queue.Room()
	quarter := func(n int) int { return (n-1)/4 + 1 } // rounded up
	if p.crossed&1 == 0 {
		if frames >= quarter(most.MaxFrames) && bytes >= quarter(most.MaxBytes) {
			return false
		}
	} else if most.MaxFrames-frames >= quarter(most.MaxFrames) || most.MaxBytes-bytes >= quarter(most.MaxBytes) {
		return false
	}
	if p.crossed-p.told == 2 {
		p.crossed--
	} else {
		p.crossed++
	}
	queue := !p.queued
	p.queued = true
	return queue
}

// tellPressure runs the hook in its turn, once per crossing. It follows cross,
// without a lock.
func (s *Session) tellPressure() {
	s.enqueue(entry{hook: true, run: func(context.Context) {
		for {
			s.mu.Lock()
			p := &s.pressure
			if p.crossed == p.told {
				p.queued = false
				s.mu.Unlock()
				return
			}
			p.told++
			high := p.told&1 == 1
			s.mu.Unlock()
			s.runHook(func(ctx context.Context) { s.hub.options.OnPressure(ctx, s.client, high) })
		}
	}})
}
