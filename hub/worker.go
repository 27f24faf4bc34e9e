package hub

import "sync/atomic"

// maxIdleWorkers is how many goroutines wait for further calls.
const maxIdleWorkers = 32

// workers run calls. Their stacks stay as deep as a call needs: to grow one anew for
// each costs more than a small handler.
type workers struct {
	next chan *Due // taken by those that wait
	idle atomic.Int32
}

// run has a worker run a call that was counted in.
func (h *Hub) run(due *Due) {
	select {
	case h.workers.next <- due:
	default:
		h.wg.Add(1) // before Close waits: the call is counted in
		go h.work(due)
	}
}

// work runs a call, then others, until too many wait for the next one.
func (h *Hub) work(due *Due) {
	defer h.wg.Done()
	w := &h.workers
	for {
		due.Run()
		if w.idle.Add(1) > maxIdleWorkers {
			w.idle.Add(-1)
			return
		}
		select {
		case due = <-w.next:
			w.idle.Add(-1)
		case <-h.ctx.Done():
			return
		}
	}
}
