package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

const capTopics = "topics/1"

// frameAppender is what generated control frames are.
type frameAppender interface {
	AppendFrame(dst []byte) ([]byte, error)
}

// encode returns the frame of a control event. It cannot fail: their names are
// short, and encoding fails on size alone.
func encode(m frameAppender) []byte {
	frame, err := m.AppendFrame(nil)
	if err != nil {
		panic(err)
	}
	return frame
}

func encodeAll(list []frameAppender) [][]byte {
	frames := make([][]byte, len(list))
	for i, m := range list {
		frames[i] = encode(m)
	}
	return frames
}

// control queues a control frame if there is a socket for it; else the next one
// is told when it is up. A socket that takes no more of them is given up.
// c.mu is held.
func (c *Conn) control(m frameAppender) {
	if c.ready && !c.queue.control(encode(m)) {
		c.socket.conn.Close()
	}
}

func (c *Conn) undecodable(err error) {
	c.counts.undecodable.Add(1)
	c.report(nova.Errorf(nova.Invalid, "undecodable frame: %w", err))
}

// frame takes one frame from the server: through a gate when it is numbered.
func (s *socket) frame(data []byte) error {
	h, payload, err := wire.ParseFrame(data)
	switch {
	case err != nil:
		s.c.undecodable(err)
		return errUndecodable
	case h.Seq > wire.MaxSafe:
		s.c.undecodable(fmt.Errorf("delivery number %d is beyond 2^53−1", h.Seq))
		return errUndecodable
	}
	s.framed = true
	if h.Seq == 0 {
		return s.route(h, payload, data)
	}
	if s.sessions {
		return s.numbered(h, payload, data)
	}
	gate := &s.c.gate
	switch gate.Push(h.Seq, data) {
	case session.Duplicate:
		s.c.counts.duplicates.Add(1)
	case session.Deliver:
		if err := s.route(h, payload, data); err != nil {
			return err
		}
		return s.release()
	case session.Hold:
		if gate.Ask() {
			return s.send(&control.Resume{LastSeq: int64(gate.Last())})
		}
	case session.Overflow:
		if err := s.letGo(); err != nil {
			return err
		}
		return s.frame(data)
	}
	return nil
}

// release delivers what the gate holds and whose turn it is.
func (s *socket) release() error {
	for {
		frame, ok := s.c.gate.Next()
		if !ok {
			return nil
		}
		h, payload, err := wire.ParseFrame(frame)
		if err != nil {
			return err // it was parsed before it was held
		}
		if err := s.route(h, payload, frame); err != nil {
			return err
		}
	}
}

// letGo delivers all that the gate holds and tells what is missing.
func (s *socket) letGo() error {
	for {
		if err := s.release(); err != nil {
			return err
		}
		from, to, ok := s.c.gate.Skip()
		if !ok {
			return nil
		}
		s.c.counts.missing.Add(to - from + 1)
		s.c.gap(Gap{From: from, To: to})
		s.c.askAgain()
	}
}

func (c *Conn) gap(g Gap) {
	c.options.Logger.Warn("nova client: gap", "gap", g.String())
	c.onGap.call(g, c.panicked("gap callback"))
}

// unmarshaler is what generated control tables are.
type unmarshaler interface {
	UnmarshalNova(payload []byte) error
}

// route hands a frame whose turn it is to its receiver.
func (s *socket) route(h wire.Header, payload, frame []byte) error {
	switch h.ID {
	case control.HelloID:
		return handle(s, payload, s.onHello)
	case control.WelcomeID:
		return handle(s, payload, s.onWelcome)
	case control.ResumedID:
		return handle(s, payload, s.onResumed)
	case control.TopicSubscribedID:
		return handle(s, payload, s.onSubscribed)
	case control.TopicRejectedID:
		return handle(s, payload, s.onRejected)
	case control.TopicUnsubscribedID:
		return handle(s, payload, s.onUnsubscribed)
	case control.SessionID:
		return handle(s, payload, s.onSession)
	case control.GapID:
		return handle(s, payload, s.onGap)
	case control.AckID:
		return handle(s, payload, s.onAck)
	case control.GroupsID:
		return handle(s, payload, s.onGroups)
	case control.GoawayID:
		return handle(s, payload, s.onGoaway)
	case control.AuthedID:
		return handle(s, payload, s.onAuthed)
	case control.ReplyID:
		return handle(s, payload, s.onReply)
	case control.CallID:
		return handle(s, payload, s.onCall)
	case control.CancelID:
		return handle(s, payload, s.onCancel)
	case control.RpcResultID:
		return handle(s, payload, s.onResult)
	case control.PongID:
		return handle(s, payload, s.onPong)
	case control.SubscribeID, control.UnsubscribeID, control.JoinGroupID, control.LeaveGroupID,
		control.SnapshotRequestID, control.PingID, control.ResumeID, control.RpcCallID,
		control.TopicSubscribeID, control.AttachID, control.AuthID:
		return nil // life, or nothing for a client
	}
	d := nova.Delivery{Seq: h.Seq, Payload: payload}
	if h.Trailer && !s.place(&d, frame) {
		return nil
	}
	s.c.dispatch(h.ID, d)
	return nil
}

func handle[T any, P interface {
	*T
	unmarshaler
}](s *socket, payload []byte, fn func(P) error) error {
	m := P(new(T))
	if err := m.UnmarshalNova(payload); err != nil {
		s.c.undecodable(err)
		return nil
	}
	return fn(m)
}

// place takes topic and offset from the trailer of a frame, moves the position
// and reports whether the frame is to be delivered.
func (s *socket) place(d *nova.Delivery, frame []byte) bool {
	trailer := frame[len(frame)-wire.TrailerLen:]
	ref, offset := binary.LittleEndian.Uint64(trailer), binary.LittleEndian.Uint64(trailer[8:])
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.topics.byRef[ref]
	switch {
	case t == nil:
		c.counts.stray.Add(1)
		return false
	case offset <= t.at.Offset || offset > wire.MaxSafe:
		c.counts.duplicates.Add(1)
		return false
	}
	t.at.Offset = offset
	d.Topic, d.Offset = t.name, offset
	return true
}

func (s *socket) onHello(m *control.Hello) error {
	if m.Version != wire.Version {
		return fmt.Errorf("the server speaks wire version %d, this client %d: %w", m.Version, wire.Version,
			&ws.CloseError{Code: ws.CodeProtocol, Reason: "wire version mismatch"})
	}
	if s.hello {
		return nil
	}
	s.hello = true
	if err := s.sendToken(m.Caps); err != nil {
		return err
	}
	c := s.c
	c.mu.Lock()
	c.topicsOn = slices.Contains(m.Caps, capTopics)
	s.joined = slices.Contains(m.Caps, capBatch) && slices.Contains(s.caps(), capBatch)
	c.queue.shaped(shape{joined: s.joined, deflate: s.deflate})
	if !slices.Contains(m.Caps, capCalls) {
		c.queue.refuseCalls()
	}
	if slices.Contains(m.Caps, capSession) {
		s.sessions, s.resuming = true, false
		c.queue.ahead(encode(s.attach()))
		c.mu.Unlock()
		return nil
	}
	s.baseServer()
	c.ready = true
	c.queue.start(encodeAll(slices.Concat(c.subscribeFrames(), c.joinFrames())))
	c.mu.Unlock()
	return nil
}

func (s *socket) onWelcome(m *control.Welcome) error {
	c := s.c
	c.mu.Lock()
	c.clientID, c.groups = m.ClientID, m.Groups
	c.mu.Unlock()
	if s.sessions {
		return nil
	}
	s.admitted()
	if s.forgot {
		c.onRecovered.call(false, c.panicked("recovered callback"))
	}
	c.reportLost(s.unknown)
	s.forgot, s.unknown = false, nil
	return nil
}

func (s *socket) onResumed(m *control.Resumed) error {
	if s.resuming {
		s.resuming = false
		s.c.onRecovered.call(m.Ok, s.c.panicked("recovered callback"))
	}
	if s.c.gate.Resumed(m.Ok, uint64(m.From)) {
		return s.letGo()
	}
	return nil
}

func isDecode(err error) bool {
	var d *wire.DecodeError
	return errors.As(err, &d)
}
