package server

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// limiter is what one connection has of the limits; its reader's.
type limiter struct {
	own   tokens
	now   int64   // when the clock was looked at last
	late  bool    // time may have passed since
	user  *shared // nil = none
	addr  *shared // nil = none
	name  string  // of user
	where netip.Addr
}

// errLimited is told to whom LimitDrop refuses an answer.
var errLimited = nova.Errorf(nova.Exhausted, "rate limit exceeded")

// limit takes a token for a frame, after waiting for it with LimitDelay. over: there
// is none, and the frame is to be dropped or refused. The error ends the connection.
func (c *conn) limit(l *limits, id uint32) (over bool, err error) {
	m := c.limiter(l)
	lack := m.take(l, ofConn)
	if c.phase.Load() != admitted {
		m.late = true // the admission may take its time
	}
	if lack == paid || c.greeting(id) {
		return false, nil
	}
	l.limited.Add(1)
	switch l.policy {
	case LimitClose:
		return true, &ws.CloseError{Code: 1008, Reason: "rate limit exceeded"}
	case LimitDrop:
		return true, nil
	}
	return false, c.await(l, m, lack)
}

// greeting reports whether a frame begins the connection: each comes once.
func (c *conn) greeting(id uint32) bool {
	switch c.phase.Load() {
	case fresh: // which it stays until the token came
		return id == control.HelloID && (c.entry == nil || c.entry.hello == nil)
	case attaching:
		return id == control.AttachID
	}
	return false
}

// limiter returns what the connection has of the limits, made with its first frame.
func (c *conn) limiter(l *limits) *limiter {
	if c.rare == nil {
		c.rare = &rare{}
	}
	m := c.rare.limiter
	if m == nil {
		m = &limiter{now: l.clock()}
		c.rare.limiter = m
		m.own.fill(l.own, m.now)
		if l.addrs.quota != (quota{}) {
			if m.where = network(c.RemoteIP()); m.where.IsValid() {
				m.addr = l.addrs.use(m.where, m.now)
			}
		}
	}
	if (m.late || m.name == "") && l.users.quota != (quota{}) {
		m.follow(l, c.session().User())
	}
	return m
}

// time looks at the clock if time may have passed.
func (m *limiter) time(l *limits) int64 {
	if m.late {
		m.now, m.late = l.clock(), false
	}
	return m.now
}

// follow takes the bucket of the user that the connection has now.
func (m *limiter) follow(l *limits, user string) {
	if user == m.name {
		return
	}
	if m.name != "" {
		l.users.drop(m.name)
	}
	m.name, m.user = user, nil
	if user != "" {
		m.user = l.users.use(user, m.time(l))
	}
}

// late says that time may have passed: bytes came, or the reader has waited. Between
// frames that only follow each other nobody looks at the clock.
func (c *conn) late() {
	if c.rare != nil && c.rare.limiter != nil {
		c.rare.limiter.late = true
	}
}

// purse is whose bucket a frame takes a token of, one after the other.
type purse uint8

const (
	ofConn purse = iota
	ofUser
	ofAddr
	paid // of none any more
)

// take takes a token of each bucket from one on, and returns the first that has none.
func (m *limiter) take(l *limits, from purse) (lack purse) {
	switch from {
	case ofConn:
		if l.own.perNano > 0 && !(m.late && m.own.spare(l.own)) && !m.own.take(l.own, m.time(l)) {
			return ofConn
		}
		fallthrough
	case ofUser:
		if m.user != nil && !m.pay(l, m.user, l.users.quota) {
			return ofUser
		}
		fallthrough
	case ofAddr:
		if m.addr != nil && !m.pay(l, m.addr, l.addrs.quota) {
			return ofAddr
		}
	}
	return paid
}

// pay takes a token of a bucket of several connections.
func (m *limiter) pay(l *limits, s *shared, q quota) bool {
	return m.late && s.spare(q) || s.take(q, m.time(l))
}

// promise takes a token of a bucket that it will have after wait.
func (m *limiter) promise(l *limits, of purse) (wait time.Duration) {
	switch of {
	case ofUser:
		return m.user.promise(l.users.quota)
	case ofAddr:
		return m.addr.promise(l.addrs.quota)
	}
	return m.own.promise(l.own)
}

// giveBack returns what was promised to a connection that is gone.
func (m *limiter) giveBack(of purse) {
	switch of {
	case ofUser:
		m.user.giveBack()
	case ofAddr:
		m.addr.giveBack()
	}
}

// await waits for the tokens that take did not find. The socket is not read
// meanwhile; what came before goes to the hub.
func (c *conn) await(l *limits, m *limiter, lack purse) error {
	if err := c.handOver(); err != nil {
		return err
	}
	for ; lack != paid; lack = m.take(l, lack+1) {
		if !c.sleep(m.promise(l, lack)) {
			m.giveBack(lack)
			return nil
		}
		m.now = l.clock()
	}
	return nil
}

// sleep keeps the reader for d; false when the connection closes before.
func (c *conn) sleep(d time.Duration) bool {
	var due atomic.Bool
	timer := time.AfterFunc(d, func() {
		due.Store(true)
		c.wake()
	})
	defer timer.Stop()
	c.paused.Store(true)
	c.waitUntil(func() bool { return due.Load() || c.closing.Load() })
	c.paused.Store(false)
	c.seen.Store(c.server.tick.Load())
	return due.Load()
}

// overLimit does with a frame what LimitDrop says.
func (c *conn) overLimit(event bool, head wire.Header, payload []byte) error {
	s, cursor := c.session(), &c.cursor
	switch {
	case event && head.ID == control.CallID: // the event check has seen to the capability
		return c.handOverIf(c.gathered().RefuseCall(head, payload, errLimited))
	case event && c.Caps()&hub.CapSession != 0: // its number is used all the same
		return c.handOverIf(c.gathered().Skip(head))
	case event:
		return nil
	}
	switch head.ID {
	case control.SubscribeID:
		return decode(c, payload, func(m *control.Subscribe) error {
			s.RefuseTopic(cursor, hub.SubscribeRequest{Topic: m.Topic}, errLimited)
			return nil
		})
	case control.TopicSubscribeID:
		return decode(c, payload, func(m *control.TopicSubscribe) error {
			s.RefuseTopic(cursor, hub.SubscribeRequest{Topic: m.Topic, ID: m.ID}, errLimited)
			return nil
		})
	case control.JoinGroupID:
		return decode(c, payload, func(m *control.JoinGroup) error { s.RefuseGroup(cursor, m.Group, errLimited); return nil })
	case control.HelloID: // a later one asks to resume
		return decode(c, payload, func(m *control.Hello) error {
			if m.LastSeq > 0 && c.Caps()&hub.CapSession == 0 {
				return c.resume(-1)
			}
			return nil
		})
	case control.ResumeID:
		return c.resume(-1)
	case control.RpcCallID:
		return decode(c, payload, func(m *control.RpcCall) error {
			s.InOrder(cursor, encode(&control.RpcResult{ID: m.ID, Err: errLimited.Error()}))
			c.Flush()
			return nil
		})
	case control.UnsubscribeID, control.LeaveGroupID, control.AckID, control.ReplyID, control.CancelID:
		return c.route(head, payload)
	}
	return nil
}

// endLimit gives up what the connection has of the limits.
func (c *conn) endLimit() {
	l := c.server.limits
	if l == nil || c.rare == nil || c.rare.limiter == nil {
		return
	}
	m := c.rare.limiter
	if m.name != "" {
		l.users.drop(m.name)
	}
	if m.addr != nil {
		l.addrs.drop(m.where)
	}
	c.rare.limiter = nil
}
