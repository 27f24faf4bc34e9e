package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

const (
	closeWait = 5 * time.Second        // for the peer's side of a close
	byeWait   = time.Second            // to write a last close frame
	probeWait = 100 * time.Millisecond // for bytes that arrived while nobody read
	smallRead = 1 << 10                // the buffer of a quiet connection
	bigRead   = 16 << 10               // and of a busy one
)

// socket is one WebSocket of a Conn. Two goroutines serve it: the one that
// reads, which is Conn.run, and the one that writes.
type socket struct {
	c       *Conn
	ctx     context.Context // ends with the socket
	conn    net.Conn
	parser  ws.Parser
	deflate *ws.Deflater // of messages to the server; nil = they are not compressed

	pause    *pause
	bye      chan []byte   // the payload of a close frame to end with
	readDone chan struct{} // closed when reading has ended
	written  chan struct{} // closed when writing has ended

	// Of the writer; the reader may look after written is closed.
	writeErr error
	lost     []item // of the batch whose write failed
	lostSent int    // bytes of it that the socket took

	// Of the reader.
	hello     bool   // the server's hello came
	joined    bool   // and batch/1 is on
	sessions  bool   // and session/1 is on
	asked     string // the session that attach asked for
	forgot    bool   // there was a session before, and the server has none
	unknown   []item // and what was sent in it has an unknown outcome
	framed    bool
	resuming  bool // hello asked to resume and has no answer
	welcomed  time.Time
	after     time.Duration // from a goaway
	beat      time.Duration // between two pings, ≤ 0 = none
	ackDue    int           // numbered frames not acknowledged
	ackAt     time.Time     // then they are, zero = none
	helloBy   time.Time     // the welcome is due
	tick      time.Time     // next heartbeat, zero = none
	renewAt   time.Time     // then the token is renewed, zero = never
	authID    int64         // of the newest token
	fetching  atomic.Bool   // a newer one
	gapAt     time.Time     // then held frames are let go, zero = none
	gapFor    uint64        // the number that gapAt is for
	armed     time.Time     // read deadline in force, zero = none
	isArmed   bool          // it has not passed
	alive     bool          // bytes came since the last tick
	missed    int           // ticks in a row without
	probing   bool          // the connection is dead unless bytes are there
	peerClose *ws.CloseError
}

// bigBuffers lends read buffers to connections that are busy.
var bigBuffers = sync.Pool{New: func() any { return new([bigRead]byte) }}

// serve exchanges frames over conn until it ends, and says how.
func (c *Conn) serve(conn net.Conn, behind []byte, p *pause, deflate *ws.Deflater) ending {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	s := &socket{
		c: c, ctx: ctx, conn: conn, pause: p, deflate: deflate, beat: c.options.Heartbeat, parser: ws.NewParser(false, c.options.MaxMessageSize),
		bye: make(chan []byte, 1), readDone: make(chan struct{}), written: make(chan struct{}),
	}
	if deflate != nil {
		s.parser.AllowCompressed()
	}
	c.gate.Open()
	c.numbers.Open()
	c.mu.Lock()
	c.socket = s
	c.mu.Unlock()
	go s.write(s.firstFrame())
	err := s.read(behind)
	s.finish(err)
	c.mu.Lock()
	c.socket, c.ready, c.topicsOn = nil, false, false
	if !c.resumes {
		c.topics.disconnect()
	}
	c.queue.stop(s.lost, s.lostSent)
	c.mu.Unlock()
	c.answers.cut()
	c.gate.Close()
	return s.ending(err)
}

// firstFrame returns our hello as a WebSocket message.
func (s *socket) firstFrame() []byte {
	hello := control.Hello{Version: wire.Version, Caps: s.caps(), LastSeq: int64(s.c.gate.Last())}
	if schema := s.c.options.Schema; schema != nil {
		hello.Caps = append(hello.Caps, "schema/"+schema.Fingerprint())
	}
	s.resuming = hello.LastSeq > 0
	return ws.AppendMasked(nil, ws.Binary, encode(&hello), newKey())
}

// finish ends the writer, with a close frame where one is due, and closes.
func (s *socket) finish(err error) {
	var violation *ws.CloseError
	switch {
	case s.peerClose != nil:
		code := s.peerClose.Code // the answer repeats it (RFC 6455, section 5.5.1)
		s.bye <- ws.AppendClosePayload(nil, code, "")
	case errors.As(err, &violation):
		s.bye <- ws.AppendClosePayload(nil, violation.Code, violation.Reason)
	}
	close(s.readDone)
	timer := time.NewTimer(byeWait)
	select {
	case <-s.written:
	case <-timer.C:
	}
	timer.Stop()
	if violation != nil {
		s.drain()
	}
	s.conn.Close()
	<-s.written
}

// drain reads what is under way for a moment: closing with unread bytes resets
// the connection, and the close frame would be lost with it.
func (s *socket) drain() {
	if s.conn.SetReadDeadline(time.Now().Add(byeWait)) != nil {
		return
	}
	var buf [smallRead]byte
	for {
		if _, err := s.conn.Read(buf[:]); err != nil {
			return
		}
	}
}

func (s *socket) ending(err error) ending {
	end := ending{code: ws.CodeAbnormal, err: err, framed: s.framed, after: s.after}
	if !s.welcomed.IsZero() {
		end.lasted = max(time.Since(s.welcomed), 1)
	}
	var closed *ws.CloseError
	switch {
	case errors.As(err, &closed):
		end.code, end.reason, end.own = closed.Code, closed.Reason, s.peerClose == nil
	case errors.Is(err, net.ErrClosed) && s.writeErr != nil:
		end.err = fmt.Errorf("write: %w", s.writeErr)
	default:
		end.err = fmt.Errorf("connection lost: %w", err)
	}
	return end
}

// read is the loop that reads. Time passes for it by read deadlines, so that
// everything about this socket happens on one goroutine and in one order.
func (s *socket) read(behind []byte) error {
	s.helloBy = time.Now().Add(s.c.options.HandshakeTimeout)
	if s.beat > 0 {
		s.tick = time.Now().Add(s.beat)
	}
	if err := s.parser.Feed(behind, s); err != nil {
		return err
	}
	small := make([]byte, smallRead)
	buf := small
	var big *[bigRead]byte
	defer func() {
		if big != nil {
			bigBuffers.Put(big)
		}
	}()
	for {
		if err := s.arm(); err != nil {
			return err
		}
		n, err := s.conn.Read(buf)
		if n > 0 {
			s.alive, s.probing = true, false
			if err := s.parser.Feed(buf[:n], s); err != nil {
				return err
			}
		}
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
			if err := s.onTime(time.Now()); err != nil {
				return err
			}
		}
		switch {
		case big == nil && n == len(small):
			big = bigBuffers.Get().(*[bigRead]byte)
			buf = big[:]
		case big != nil && n < smallRead/2:
			bigBuffers.Put(big)
			big, buf = nil, small
		}
	}
}

// arm sets the read deadline to what is due first.
func (s *socket) arm() error {
	if waiting := s.c.gate.Waiting(); waiting != s.gapFor {
		s.gapFor, s.gapAt = waiting, time.Time{}
		if waiting != 0 {
			s.gapAt = time.Now().Add(s.c.options.Gate.Timeout)
		}
	}
	next := s.tick
	if !s.gapAt.IsZero() && (next.IsZero() || s.gapAt.Before(next)) {
		next = s.gapAt
	}
	if !s.ackAt.IsZero() && (next.IsZero() || s.ackAt.Before(next)) {
		next = s.ackAt
	}
	if !s.renewAt.IsZero() && (next.IsZero() || s.renewAt.Before(next)) {
		next = s.renewAt
	}
	if s.welcomed.IsZero() && (next.IsZero() || s.helloBy.Before(next)) {
		next = s.helloBy
	}
	if s.isArmed && next.Equal(s.armed) {
		return nil
	}
	s.armed, s.isArmed = next, true
	return s.conn.SetReadDeadline(next)
}

// onTime does what is due.
func (s *socket) onTime(now time.Time) error {
	s.isArmed = false
	if s.welcomed.IsZero() && !now.Before(s.helloBy) {
		return fmt.Errorf("no admission in %v", s.c.options.HandshakeTimeout)
	}
	if !s.gapAt.IsZero() && !now.Before(s.gapAt) {
		s.gapFor, s.gapAt = 0, time.Time{}
		if err := s.letGo(); err != nil {
			return err
		}
	}
	if !s.ackAt.IsZero() && !now.Before(s.ackAt) {
		if err := s.acknowledge(); err != nil {
			return err
		}
	}
	if !s.renewAt.IsZero() && !now.Before(s.renewAt) {
		s.renew(now)
	}
	if !s.tick.IsZero() && !now.Before(s.tick) {
		return s.heartbeat(now)
	}
	return nil
}

// heartbeat counts the signs of life and sends a ping event. Before it gives a
// connection up it reads once more: a handler may have kept us from reading.
func (s *socket) heartbeat(now time.Time) error {
	if s.probing {
		return fmt.Errorf("no sign of life from the server in %v", time.Duration(s.missed)*s.beat)
	}
	if s.alive {
		s.missed = 0
	} else {
		s.missed++
	}
	s.alive = false
	if s.missed >= s.c.options.HeartbeatMisses {
		s.probing = true
		s.tick = now.Add(min(probeWait, s.beat))
		return nil
	}
	s.tick = now.Add(s.beat)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.sendPing(now)
	return nil
}

// send queues a control frame for this socket.
func (s *socket) send(m frameAppender) error {
	if !s.c.queue.control(encode(m)) {
		return nova.Errorf(nova.Exhausted, "the server does not take control frames")
	}
	return nil
}

// Message takes a message of the server's (ws.Handler).
func (s *socket) Message(op ws.Opcode, data []byte) error {
	if s.c.isClosing() {
		return nil
	}
	if op == ws.Text {
		s.c.undecodable(errors.New("text message: frames are binary messages"))
		return nil
	}
	return s.frames(data)
}

// Control takes a WebSocket control frame of the server's (ws.Handler).
func (s *socket) Control(op ws.Opcode, data []byte) error {
	switch op {
	case ws.Ping:
		s.c.queue.ping(data)
	case ws.Close:
		code, reason, err := ws.ParseClose(data)
		if err != nil {
			return err
		}
		s.peerClose = &ws.CloseError{Code: code, Reason: reason}
		return s.peerClose
	}
	return nil
}
