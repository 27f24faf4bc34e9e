package server

import (
	"slices"
	"time"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// Message implements ws.Handler: one message is one frame, or with batch/1 several.
func (c *conn) Message(op ws.Opcode, data []byte) error {
	if c.closing.Load() {
		return nil // nothing is handled behind a close
	}
	if op == ws.Text {
		return &ws.CloseError{Code: 1003, Reason: "text frame received"}
	}
	if c.Caps()&hub.CapBatch != 0 {
		return c.batch(data)
	}
	err := c.frame(data, false)
	if err == errUndecodable {
		return nil
	}
	return err
}

// frame takes one frame; joined says that it follows another in its message.
func (c *conn) frame(data []byte, joined bool) error {
	head, payload, err := wire.ParseFrame(data)
	over := false
	if l := c.server.limits; l != nil {
		var end error
		if over, end = c.limit(l, head.ID); end != nil || c.closing.Load() {
			return end
		}
	}
	if err != nil || head.Trailer {
		c.session().Undecodable(hub.DamageEnvelope)
		return errUndecodable
	}
	event := c.burst != nil && c.burst.Event() == head.ID ||
		head.ID == control.CallID && c.Caps()&hub.CapCalls != 0 || // numbered like an event
		control.Layout.EventByID(head.ID) == nil
	if !event {
		if err := c.handOver(); err != nil {
			return err
		}
	}
	if c.waits() {
		if over {
			return c.tooEarly(head.ID, payload)
		}
		return c.lobby(head, payload)
	}
	if head.ID == control.HelloID {
		if over {
			return c.overLimit(false, head, payload)
		}
		return decode(c, payload, c.hello)
	}
	if head.ID == control.AuthID && c.entry != nil && c.entry.inBand {
		return c.renew(payload, over)
	}
	switch phase := c.phase.Load(); {
	case phase == attaching && head.ID == control.AttachID:
		return c.attach(payload)
	case phase == attaching:
		return &ws.CloseError{Code: 1002, Reason: "no attach"}
	case phase == fresh && c.nova:
		return &ws.CloseError{Code: 1002, Reason: "no hello"}
	case phase == fresh || phase == admitting:
		c.admit(0)
	}
	if c.closing.Load() || !c.session().Owned(&c.cursor) {
		return nil // turned away, or replaced: nothing it does counts
	}
	switch {
	case over:
		return c.overLimit(event, head, payload)
	case event:
		return c.application(head, payload, joined)
	}
	return c.route(head, payload)
}

// Control implements ws.Handler.
func (c *conn) Control(op ws.Opcode, data []byte) error {
	switch op {
	case ws.Ping:
		if l := c.server.limits; l != nil {
			if over, err := c.limit(l, 0); over || err != nil || c.closing.Load() {
				return err
			}
		}
		c.session().Ahead(&c.cursor, session.SocketPong, ws.AppendFrame(nil, ws.Pong, data))
		c.Flush()
	case ws.Close:
		if err := c.handOver(); err != nil {
			return err
		}
		if c.closing.CompareAndSwap(false, true) {
			code, _, _ := ws.ParseClose(data)
			c.server.metrics.closed(code)
			c.net.SetDeadline(time.Now().Add(closeTime))
			if code == ws.CodeNoStatus {
				code = ws.CodeNormal
			}
			c.byClient.Store(true)
			c.code.Store(int32(code))
			c.session().Closing(&c.cursor, code, true)
			c.session().CloseFrame(&c.cursor, ws.AppendClose(nil, code, ""), false)
			c.Flush()
		}
		return errPeerClosed
	}
	return nil
}

// hello takes the client's hello: the first fixes the capabilities and admits, a
// later one only asks to resume.
func (c *conn) hello(m *control.Hello) error {
	c.server.metrics.control.Add(1)
	if m.Version != wire.Version {
		return &ws.CloseError{Code: 1002, Reason: "wire version mismatch"}
	}
	if phase := c.phase.Load(); phase == attaching || phase == admitted {
		if m.LastSeq > 0 && c.Caps()&hub.CapSession == 0 {
			return c.resume(m.LastSeq)
		}
		return nil
	}
	if c.phase.Load() == fresh && c.entry != nil {
		c.tellExpiry(m.Caps)
	}
	return c.greeted(m)
}

// greeted goes on with the client's first hello.
func (c *conn) greeted(m *control.Hello) error {
	c.compareSchema(m.Caps)
	var caps hub.Caps
	if slices.Contains(m.Caps, capTopics) {
		caps |= hub.CapTopics
	}
	if slices.Contains(m.Caps, capBatch) && offersBatch(c.server.hub, &c.server.options) {
		caps |= hub.CapBatch
	}
	if slices.Contains(m.Caps, capCalls) {
		caps |= hub.CapCalls
	}
	if slices.Contains(m.Caps, capSession) && c.server.hub.Sessions() {
		if !c.awaitAttach(caps | hub.CapSession) {
			return &ws.CloseError{Code: 1002, Reason: "hello came too late"}
		}
		return nil
	}
	c.caps.Store(uint32(caps))
	c.admit(m.LastSeq)
	return nil
}

func (c *conn) resume(lastSeq int64) error {
	if !c.session().Resume(&c.cursor, lastSeq) {
		return &ws.CloseError{Code: 1008, Reason: "too many resumes"}
	}
	c.Flush()
	return nil
}

// decode reads a control table for do. One that does not decode is counted.
func decode[T any, P interface {
	*T
	UnmarshalNova(payload []byte) error
}](c *conn, payload []byte, do func(P) error) error {
	m := P(new(T))
	if m.UnmarshalNova(payload) != nil {
		c.session().Undecodable(hub.DamageControl)
		return errUndecodable
	}
	return do(m)
}

// patiently is decode for what may wait for room in the inbox: a reader that waits is no
// silent client.
func patiently[T any, P interface {
	*T
	UnmarshalNova(payload []byte) error
}](c *conn, payload []byte, do func(P)) error {
	return decode(c, payload, func(m P) error {
		c.paused.Store(true)
		do(m)
		c.paused.Store(false)
		c.seen.Store(c.server.tick.Load())
		return nil
	})
}

// route handles and counts control frames. Those that only a server sends are
// ignored.
func (c *conn) route(head wire.Header, payload []byte) error {
	defer c.late() // some wait for the inbox
	err := c.obey(head.ID, payload)
	if err != errUndecodable {
		c.server.metrics.control.Add(1)
	}
	return err
}

func (c *conn) obey(id uint32, payload []byte) error {
	s, cursor := c.session(), &c.cursor
	switch id {
	case control.SubscribeID:
		return patiently(c, payload, func(m *control.Subscribe) { s.Subscribe(cursor, hub.SubscribeRequest{Topic: m.Topic}) })
	case control.UnsubscribeID:
		return patiently(c, payload, func(m *control.Unsubscribe) { s.Unsubscribe(cursor, m.Topic) })
	case control.JoinGroupID:
		return patiently(c, payload, func(m *control.JoinGroup) { s.EnterGroup(cursor, m.Group) })
	case control.LeaveGroupID:
		return patiently(c, payload, func(m *control.LeaveGroup) { s.ExitGroup(cursor, m.Group) })
	case control.SnapshotRequestID:
		return patiently(c, payload, func(m *control.SnapshotRequest) { s.Snapshot(cursor, m.Topic, m.FromSeq) })
	case control.TopicSubscribeID:
		if c.Caps()&hub.CapTopics == 0 {
			return nil // the capability is off: ignored like any control frame out of place
		}
		return patiently(c, payload, func(m *control.TopicSubscribe) {
			s.Subscribe(cursor, hub.SubscribeRequest{
				Topic: m.Topic, Positioned: true, ID: m.ID, Epoch: m.Epoch, Offset: m.Offset, Limit: m.Limit,
			})
		})
	case control.PingID:
		return decode(c, payload, c.ping)
	case control.ResumeID:
		return decode(c, payload, func(m *control.Resume) error { return c.resume(m.LastSeq) })
	case control.AckID:
		return decode(c, payload, func(m *control.Ack) error {
			if !s.Acked(cursor, m.Seq) {
				return &ws.CloseError{Code: 1002, Reason: "acknowledges what was never sent"}
			}
			return nil
		})
	case control.RpcCallID:
		return decode(c, payload, func(m *control.RpcCall) error { s.Request(cursor, m); return nil })
	case control.ReplyID:
		return decode(c, payload, func(m *control.Reply) error { s.Replied(cursor, m); return nil })
	case control.CancelID:
		return decode(c, payload, func(m *control.Cancel) error { s.CancelCall(cursor, m.ID); return nil })
	}
	return nil
}

// application gathers an event for the hub. What was gathered is handed over
// before anything else of the client is handled, and at the end of what was read.
func (c *conn) application(head wire.Header, payload []byte, joined bool) error {
	b := c.gathered()
	full := b.Add(head, payload)
	if joined {
		b.Join()
	}
	return c.handOverIf(full)
}

// gathered returns the burst of the read being taken.
func (c *conn) gathered() *hub.Burst {
	if c.burst == nil {
		c.burst = c.server.hub.Burst()
	}
	return c.burst
}

// handOverIf hands the burst over when it is full.
func (c *conn) handOverIf(full bool) error {
	if full {
		return c.handOver()
	}
	return nil
}

// handOver gives the events gathered so far to the hub, which may make the reader
// wait. Calls among them run beside the reader.
func (c *conn) handOver() error {
	due, err := c.handOverLast()
	if due != nil {
		due.Go()
	}
	return err
}

// handOverLast is handOver that leaves the last call to the caller.
func (c *conn) handOverLast() (due *hub.Due, err error) {
	b := c.burst
	if b == nil {
		return nil, nil
	}
	c.burst = nil
	c.paused.Store(true)
	ok := true
	if c.Caps()&hub.CapSession != 0 {
		due, ok = c.session().InboundNumbered(&c.cursor, b)
	} else {
		due = c.session().Inbound(&c.cursor, b)
	}
	c.paused.Store(false)
	c.seen.Store(c.server.tick.Load())
	c.late()
	if !ok {
		err = &ws.CloseError{Code: 1002, Reason: "frame number does not follow"}
	}
	return due, err
}

func (c *conn) ping(m *control.Ping) error {
	pong := control.Pong(*m)
	c.session().Ahead(&c.cursor, session.Pong, encode(&pong))
	c.Flush()
	return nil
}
