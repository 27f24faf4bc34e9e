package load

import (
	"fmt"
	"time"

	"github.com/ignex/nova/bench/peers/servers"
)

// stream measures Fanout and Paced: a time to warm up, the window, then the rest
// arrives.
func (r *run) stream() (Result, error) {
	e, err := newEngine(r)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	w := window{run: r, start: time.Now()}
	if err := e.loop(w.step); err != nil {
		return Result{}, err
	}
	if w.err != nil {
		return Result{}, w.err
	}
	return w.result, nil
}

// window is the course of one measurement.
type window struct {
	run    *run
	start  time.Time
	phase  int // warming, measuring, draining
	from   usage
	bytes  int64
	count  int64
	paced  int64 // broadcasts due so far
	result Result
	err    error
}

const (
	warming = iota
	measuring
	draining
)

// step publishes what is due and goes on to the next phase.
func (w *window) step(now time.Time) bool {
	r, s := w.run, &w.run.spec
	elapsed := now.Sub(w.start)
	switch {
	case w.phase == warming && elapsed >= s.Warm:
		if w.phase = measuring; s.Kind == Paced {
			r.record = true
		}
		w.from, w.err = readUsage(s.PID)
		w.count, w.bytes = r.deliveries, r.bytes
	case w.phase == measuring && elapsed >= s.Warm+s.Duration:
		w.phase = draining
		w.close()
	case w.phase == draining && elapsed >= s.Warm+s.Duration+drainTime:
		w.err = fmt.Errorf("%d of %d broadcasts reached everyone within %v after the last",
			r.low, r.sent, drainTime)
	}
	if w.err != nil {
		return true
	}
	if w.phase == draining {
		return r.low == r.sent && w.drained()
	}
	if s.Kind == Paced {
		for ; w.paced < int64(elapsed.Seconds()*float64(s.Rate)); w.paced++ {
			due := w.start.Add(time.Duration(float64(w.paced+1) / float64(s.Rate) * 1e9))
			r.publish(due.UnixNano())
		}
		return false
	}
	for r.sent < r.low+int64(s.Window) {
		r.publish(now.UnixNano())
	}
	return false
}

// close takes the readings at the end of the window.
func (w *window) close() {
	to, err := readUsage(w.run.spec.PID)
	if err != nil {
		w.err = err
		return
	}
	w.result.fill(w.from, to)
	w.result.Count = float64(w.run.deliveries - w.count)
	w.result.Bytes = float64(w.run.bytes-w.bytes) / max(w.result.Count, 1)
}

func (w *window) drained() bool {
	w.result.P50 = w.run.latency.quantile(0.5)
	w.result.P99 = w.run.latency.quantile(0.99)
	return true
}

// inboundBatch is how many messages one write holds.
const inboundBatch = 256

// inbound measures Inbound: every connection writes whenever it can.
func (r *run) inbound() (Result, error) {
	block, err := r.block()
	if err != nil {
		return Result{}, err
	}
	p, err := newPoller(r)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	write := func(c *conn, _ uint32) { r.write(c, block) }
	until := func(d time.Duration) error {
		end := time.Now().Add(d)
		return p.events(func(now time.Time) bool { return now.After(end) }, write)
	}
	if err := until(r.spec.Warm); err != nil {
		return Result{}, err
	}
	from, err := readUsage(r.spec.PID)
	if err != nil {
		return Result{}, err
	}
	first, err := r.ask(servers.OpCount)
	if err != nil {
		return Result{}, err
	}
	if err := until(r.spec.Duration); err != nil {
		return Result{}, err
	}
	last, err := r.ask(servers.OpCount)
	if err != nil {
		return Result{}, err
	}
	to, err := readUsage(r.spec.PID)
	if err != nil {
		return Result{}, err
	}
	var result Result
	result.fill(from, to)
	result.Count = float64(last - first)
	return result, nil
}

// block is what one write holds.
func (r *run) block() ([]byte, error) {
	message := make([]byte, inboundSize)
	if p := protocols[r.spec.Protocol]; p.message != nil {
		var err error
		if message, err = p.message(); err != nil {
			return nil, err
		}
	}
	var block []byte
	for range inboundBatch {
		block = appendMasked(block, 2, message)
	}
	return block, nil
}
