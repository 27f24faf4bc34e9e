package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ignex/nova/bench/peers/servers"
)

// ringSize is how many broadcasts can be under way at once.
const ringSize = 1 << 16

// drainTime is how long what was published may take to arrive.
const drainTime = 60 * time.Second

// run is a measurement under way. With TLS its methods run under the lock of the
// engine.
type run struct {
	spec    Spec
	conns   []*conn
	control int // descriptor, blocking

	sent, low int64 // broadcasts published, completed
	limit     int64 // publish no more than this
	waiting   [ringSize]int32
	stamps    [ringSize]int64
	out       []byte // commands not yet sent

	deliveries int64
	bytes      int64
	record     bool // latencies
	latency    histogram
	err        error
}

// Run measures.
func Run(s Spec) (Result, error) {
	if err := s.check(); err != nil {
		return Result{}, err
	}
	fd, err := connect(s.ControlPort, 1)
	if err != nil {
		return Result{}, fmt.Errorf("control connection: %w", err)
	}
	r := &run{spec: s, control: fd}
	before, err := r.settled()
	if err != nil {
		return Result{}, err
	}
	if r.conns, err = dialAll(&s); err != nil {
		return Result{}, err
	}
	if err := r.joined(); err != nil {
		return Result{}, err
	}
	switch s.Kind {
	case Inbound:
		return r.inbound()
	case Idle, Growth:
		return r.memory(before)
	}
	return r.stream()
}

// joined waits until a broadcast reaches all: some servers subscribe behind the
// answer to the handshake.
func (r *run) joined() error {
	if r.spec.Kind == Inbound {
		return nil
	}
	if protocols[r.spec.Protocol].join == nil {
		time.Sleep(200*time.Millisecond + time.Duration(len(r.conns))*100*time.Microsecond)
	}
	e, err := newEngine(r)
	if err != nil {
		return err
	}
	defer e.close()
	return r.exactly(e, 1, 1)
}

// exactly publishes count broadcasts, window at a time, and waits for all.
func (r *run) exactly(e engine, count, window int64) error {
	r.limit = r.sent + count
	deadline := time.Now().Add(drainTime)
	return e.loop(func(now time.Time) bool {
		for r.sent < min(r.limit, r.low+window) {
			r.publish(now.UnixNano())
		}
		if now.After(deadline) {
			r.err = fmt.Errorf("%d of %d broadcasts reached everyone within %v", r.low, r.sent, drainTime)
		}
		return r.low == r.limit
	})
}

func (r *run) publish(stamp int64) {
	i := r.sent & (ringSize - 1)
	r.waiting[i] = int32(len(r.conns))
	r.stamps[i] = stamp
	r.sent++
	r.out = append(r.out, servers.OpPublish)
	r.out = binary.LittleEndian.AppendUint64(r.out, uint64(stamp))
}

// flush sends the commands that have gathered.
func (r *run) flush() {
	if len(r.out) > 0 {
		if _, err := blocking(r.control).Write(r.out); err != nil {
			r.err = fmt.Errorf("control: %w", err)
		}
		r.out = r.out[:0]
	}
}

// received takes what a connection read.
func (r *run) received(c *conn, b []byte) {
	n := int64(c.feed(b))
	r.bytes += int64(len(b))
	r.deliveries += n
	if len(c.answer) > 0 {
		c.respond()
	}
	if c.closed {
		r.err = fmt.Errorf("the server closed a connection: %q", c.parser.control)
		return
	}
	if n == 0 {
		return
	}
	if c.count+n > r.sent {
		r.err = fmt.Errorf("a connection received %d of %d broadcasts", c.count+n, r.sent)
		return
	}
	if r.record {
		now := time.Now().UnixNano()
		for i := c.count; i < c.count+n; i++ {
			r.latency.add(now - r.stamps[i&(ringSize-1)])
		}
	}
	for i := c.count; i < c.count+n; i++ {
		r.waiting[i&(ringSize-1)]--
	}
	c.count += n
	for r.low < r.sent && r.waiting[r.low&(ringSize-1)] == 0 {
		r.low++
	}
}

func (c *conn) respond() {
	if c.tls != nil {
		c.tls.Write(c.answer)
	} else {
		unix.Write(c.fd, c.answer) // small: it fits, or the connection is dead
	}
	c.answer = c.answer[:0]
}

// ask sends a command that has an answer.
func (r *run) ask(op byte) (uint64, error) {
	r.flush()
	var b [9]byte
	b[0] = op
	if _, err := blocking(r.control).Write(b[:]); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(blocking(r.control), b[:8]); err != nil {
		return 0, errors.Join(errors.New("control: no answer"), err)
	}
	return binary.LittleEndian.Uint64(b[:8]), nil
}

// settled returns the resident memory of the server at rest.
func (r *run) settled() (float64, error) {
	if r.spec.Kind != Idle && r.spec.Kind != Growth {
		return 0, nil
	}
	for range 2 {
		time.Sleep(200 * time.Millisecond)
		if _, err := r.ask(servers.OpCollect); err != nil {
			return 0, err
		}
	}
	return memory(r.spec.PID, "VmRSS")
}
