package hub

import "time"

// janitor forgets topics that nobody uses, and ends sessions that nobody came
// back to.
func (h *Hub) janitor() {
	defer h.wg.Done()
	tick := time.NewTicker(min(time.Minute, max(h.options.History.Idle/4, time.Second)))
	defer tick.Stop()
	sweep := time.NewTicker(h.sweepEvery())
	defer sweep.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
			h.forget()
		case <-h.full:
			h.forget()
			h.expire()
		case <-sweep.C:
			h.expire()
		}
	}
}

// sweepEvery is how often sessions are looked at that nobody came back to.
func (h *Hub) sweepEvery() time.Duration {
	if ttl := h.SessionTTL(); ttl > 0 {
		return max(10*time.Millisecond, min(time.Second, ttl/8))
	}
	return time.Second
}
