package hub

import (
	"context"

	"github.com/ignex/nova"
)

// EndReason says why a session ended.
type EndReason uint8

// The reasons.
const (
	EndByClient   EndReason = iota + 1 // its client closed it: 1000, or 1001 of a page that goes away
	EndLost                            // its socket is gone and its client cannot come back to it
	EndExpired                         // nobody came back within SessionOptions.TTL, or its bounds
	EndReplaced                        // its client has a newer one
	EndDisconnect                      // Client.Disconnect, or Session.End
	EndViolation                       // the client broke a rule: closed 1002, 1003, 1008, 1009 or 4403
	EndSlow                            // what must arrive did not fit into its queue
	EndUser                            // Client.SetUser
	EndShutdown                        // the hub was closed
)

// String returns the reason in lower case.
func (r EndReason) String() string {
	switch r {
	case EndByClient:
		return "closed by the client"
	case EndLost:
		return "lost"
	case EndExpired:
		return "expired"
	case EndReplaced:
		return "replaced"
	case EndDisconnect:
		return "disconnected"
	case EndViolation:
		return "violation"
	case EndSlow:
		return "slow"
	case EndUser:
		return "user changed"
	case EndShutdown:
		return "shutdown"
	}
	return "unknown"
}

// lostReason is why a session ends with a socket that closed with code.
func lostReason(code int, byClient bool, doomed EndReason, broken bool) EndReason {
	switch {
	case doomed != 0:
		return doomed
	case broken:
		return EndSlow
	case byClient:
		return EndByClient
	case code == 1002 || code == 1003 || code == 1008 || code == 1009 || code == 4403:
		return EndViolation
	}
	return EndLost
}

// Cause says what made a client join or leave.
type Cause uint8

// The causes.
const (
	CauseSeed  Cause = iota + 1 // the identity, of this connection or a later one
	CauseFrame                  // the client asked for it
	CauseAPI                    // the application did
	CauseEnd                    // the session ended
)

// String returns the cause in lower case.
func (c Cause) String() string {
	switch c {
	case CauseSeed:
		return "seed"
	case CauseFrame:
		return "frame"
	case CauseAPI:
		return "api"
	case CauseEnd:
		return "end"
	}
	return "unknown"
}

// Move is one client's way into a topic or group, or out of it.
type Move struct {
	Kind  nova.TargetKind // nova.ToTopic or nova.ToGroup
	Name  string
	Cause Cause
}

// watched reports whether joins and leaves have hooks. Then they wait their turn
// like slow ones, so that a client cannot make more than the hooks keep up with.
func (o *Options) watched() bool { return o.OnJoin != nil || o.OnLeave != nil }

// noteMove has a hook told of a move, in the order of moves. The caller holds
// state; kick has to follow without a lock.
func (s *Session) noteMove(hook func(context.Context, *nova.Client, Move), r *room, cause Cause) {
	if hook == nil || r.kind != nova.ToTopic && r.kind != nova.ToGroup {
		return
	}
	move := Move{Kind: r.kind, Name: r.name, Cause: cause}
	s.note(func(ctx context.Context) { hook(ctx, s.client, move) })
}

// note has run done in its turn; kick has to follow without a lock.
func (s *Session) note(run func(ctx context.Context)) {
	box := s.box()
	box.mu.Lock()
	defer box.mu.Unlock()
	if !box.closed {
		box.add(entry{hook: true, run: run})
	}
}

// announce has OnConnect run before all that the session does, none of it before
// release. Again it does nothing.
func (s *Session) announce() {
	hook := s.hub.options.OnConnect
	if hook == nil {
		return
	}
	box := s.box()
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.held || box.closed {
		return
	}
	box.held = true
	connecting := make(chan struct{})
	box.connecting = connecting
	box.add(entry{hook: true, run: func(ctx context.Context) {
		defer close(connecting)
		s.state.Lock()
		listed := s.listed
		s.state.Unlock()
		if listed {
			hook(ctx, s.client)
		}
	}})
}

// release lets the tasks of a session begin that announce holds back. It may be called
// again.
func (s *Session) release() {
	box := s.inbox.Load()
	if box == nil {
		return
	}
	box.mu.Lock()
	box.held = false
	box.mu.Unlock()
	s.kick()
}

// kick sees to it that what was noted is done.
func (s *Session) kick() {
	box := s.inbox.Load()
	if box == nil {
		return
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if len(box.queue) > 0 {
		s.run(box)
	}
}
