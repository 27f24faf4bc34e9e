package client

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

const (
	capSession = "session/1"

	attachSize = 96 // at most what a nova.attach has beside its texts, in bytes
	cursorSize = 64 // and one topic of it

	ackEvery = 64              // numbered frames
	ackAfter = 2 * time.Second // the first that is not acknowledged
)

// violation ends a connection whose server breaks the protocol.
func violation(reason string) error {
	return &ws.CloseError{Code: ws.CodeProtocol, Reason: reason}
}

// attach asks for the session, or for a new one. Topics with a position go along
// for the case that the session is lost, unless they have a limit, which attach
// cannot tell, or there are more than the server's largest message takes. c.mu is
// held.
func (s *socket) attach() *control.Attach {
	c := s.c
	m := &control.Attach{Session: c.session, LastSeq: int64(c.numbers.Last()), Topics: []control.Cursor{}}
	c.topics.unlist()
	if c.topicsOn {
		room := c.queue.most()
		if room == 0 {
			room = maxBatch
		}
		room -= attachSize + len(c.session)
		for _, name := range slices.Sorted(maps.Keys(c.topics.byName)) {
			if t := c.topics.byName[name]; t.at.Epoch != "" && !t.doubtful && t.limit == 0 {
				if room -= cursorSize + len(name) + len(t.at.Epoch); room < 0 {
					break
				}
				t.listed, t.asked = true, true
				m.Topics = append(m.Topics, control.Cursor{Topic: name, Epoch: t.at.Epoch, Offset: int64(t.at.Offset)})
			}
		}
	}
	s.asked = m.Session
	c.resumes = true
	return m
}

// numbered takes a numbered frame of a server with sessions.
func (s *socket) numbered(h wire.Header, payload, data []byte) error {
	switch s.c.numbers.Push(h.Seq) {
	case session.Discard:
		s.c.counts.stray.Add(1)
		return nil
	case session.Violation:
		return violation("delivery number out of order")
	}
	if err := s.route(h, payload, data); err != nil {
		return err
	}
	return s.delivered()
}

// delivered notes that something is to be acknowledged, and does it in time.
func (s *socket) delivered() error {
	if s.ackDue++; s.ackDue >= ackEvery {
		return s.acknowledge()
	}
	if s.ackAt.IsZero() {
		s.ackAt = time.Now().Add(ackAfter)
	}
	return nil
}

func (s *socket) acknowledge() error {
	s.ackDue, s.ackAt = 0, time.Time{}
	return s.send(&control.Ack{Seq: int64(s.c.numbers.Last())})
}

// onSession takes the answer to attach, or the word that the session has changed.
func (s *socket) onSession(m *control.Session) error {
	c := s.c
	again := c.numbers.Attached()
	switch {
	case !s.sessions:
		return nil
	case m.NextSeq < 1 || m.NextSeq > wire.MaxSafe || m.Received < 0 || m.Received > wire.MaxSafe || m.Recovered && !again && s.asked == "":
		return violation("impossible nova.session")
	case !c.numbers.Attach(m.Recovered, uint64(m.NextSeq)):
		return violation("recovered at another number")
	case m.Recovered && !again && !c.queue.resumed(uint64(m.Received)):
		return violation("received what was never sent")
	}
	var lost []item
	if !m.Recovered {
		lost = c.queue.renewed(true, uint64(m.Received))
	}
	c.session = m.Session
	c.mu.Lock()
	c.clientID = m.ClientID
	frames := c.left.frames()
	if m.Recovered {
		c.topics.recovered()
	} else {
		c.topics.renewed()
	}
	if !again || !m.Recovered {
		frames = slices.Concat(frames, c.subscribeFrames(), c.joinFrames())
	} else {
		frames = nil
	}
	c.topics.unlist()
	c.ready = true
	largest := int(min(max(m.MaxMessage, 0), 1<<30))
	refused := c.queue.limit(m.Rate, m.Burst, largest, time.Now())
	c.queue.start(encodeAll(frames))
	c.mu.Unlock()
	if m.HeartbeatMs > 0 && !c.ownBeat {
		s.beat = time.Duration(min(max(m.HeartbeatMs, 1000), maxAfter.Milliseconds())) * time.Millisecond
		s.tick = time.Now().Add(s.beat)
	}
	s.admitted()
	if s.asked != "" || again {
		c.onRecovered.call(m.Recovered, c.panicked("recovered callback"))
	}
	c.reportLost(lost)
	c.reportRefused(refused, largest)
	return nil
}

// onGap takes the server's word that frames will not come.
func (s *socket) onGap(m *control.Gap) error {
	c := s.c
	if !s.sessions {
		return nil
	}
	if m.From < 0 || m.To < m.From || m.To > wire.MaxSafe {
		return violation("impossible nova.gap")
	}
	g := Gap{Topic: m.Topic, From: uint64(m.From), To: uint64(m.To), Reason: GapReason(m.Reason)}
	if m.Topic != "" {
		if c.passTopic(&g) {
			c.gap(g)
		}
		return nil
	}
	first, v := c.numbers.Gap(g.From, g.To)
	switch v {
	case session.Discard:
		c.counts.stray.Add(1)
		return nil
	case session.Violation:
		return violation("gap out of order")
	}
	if g.From = first; g.Reason == GapSuperseded {
		c.counts.superseded.Add(g.To - g.From + 1)
	} else {
		c.counts.missing.Add(g.To - g.From + 1)
		c.gap(g)
	}
	return s.delivered()
}

// passTopic moves a topic's position behind a gap and reports whether the gap is
// news.
func (c *Conn) passTopic(g *Gap) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.topics.byName[g.Topic]
	if t == nil || !t.acked || g.To <= t.at.Offset {
		return false
	}
	g.From = max(g.From, t.at.Offset+1)
	t.at.Offset = g.To
	return g.Reason != GapSuperseded
}

func (s *socket) onAck(m *control.Ack) error {
	if s.sessions && (m.Seq < 0 || !s.c.queue.acked(uint64(m.Seq))) {
		return violation("acknowledges what was never sent")
	}
	return nil
}

func (s *socket) onGroups(m *control.Groups) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.groups = m.Groups
	return nil
}

func (s *socket) onPong(m *control.Pong) error {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left.ponged(m.Ts)
	return nil
}

// sendPing queues a ping event. c.mu is held.
func (c *Conn) sendPing(now time.Time) {
	ts := now.UnixMilli()
	c.left.pinged(ts)
	c.control(&control.Ping{Ts: ts})
}

// onGoaway notes how long the server asks to stay away.
func (s *socket) onGoaway(m *control.Goaway) error {
	s.after = time.Duration(min(max(m.RetryAfterMs, 1), maxAfter.Milliseconds())) * time.Millisecond
	s.c.options.Logger.Info("nova client: the server goes away", "reason", m.Reason, "retry_after", s.after)
	return nil
}

// admitted tells that the connection is up, once.
func (s *socket) admitted() {
	if !s.welcomed.IsZero() {
		return
	}
	s.welcomed = time.Now()
	s.c.counts.connects.Add(1)
	s.c.setStatus(Status{State: Connected})
	s.c.first(nil)
}

// baseServer begins a connection with a server that has no sessions. What the
// session before leaves behind is told once the server admits this client. c.mu
// is held.
func (s *socket) baseServer() {
	c := s.c
	s.forgot = c.session != ""
	c.session, c.numbers, c.resumes, c.left = "", session.SessionGate{}, false, newLeftSet()
	c.topics.disconnect()
	s.unknown = c.queue.renewed(false, 0)
}

// failure turns what a server answered into an error. What it ended on purpose, with
// code 0, is Cancelled.
func failure(code int64, format string, args ...any) error {
	if code == int64(nova.OK) {
		code = int64(nova.Cancelled)
	}
	return nova.ReplyError(code, fmt.Sprintf(format, args...))
}
