package nova

import (
	"context"
	"time"

	"github.com/ignex/nova/wire"
)

// Client is one connected client as handlers and hooks see it: a session, which
// may outlive a socket. Methods may be called from any goroutine.
type Client struct {
	session Session
	data    data
}

// Session is the state behind a Client. Package hub implements it.
type Session interface {
	ID() string
	User() string
	SetUser(user string) (*Client, error)
	Topics() []string
	Groups() []string
	Queued() (frames, bytes int)
	Join(ctx context.Context, topic string) error
	Leave(topic string)
	JoinGroup(ctx context.Context, group string) error
	LeaveGroup(group string)
	Disconnect(code int, reason string)
	ConnectedAt() time.Time
	Connected() bool
	RemoteIP() string
	Caller
}

// NewClient wraps a session. Only a hub, or a test, has a use for it.
func NewClient(session Session) *Client { return &Client{session: session} }

// ID returns the client's id: pinned by authentication, else a random UUID.
func (c *Client) ID() string { return c.session.ID() }

// User returns the user the client is authenticated as, "" for nobody.
func (c *Client) User() string { return c.session.User() }

// SetUser makes user the one the client is authenticated as, "" for nobody. A
// client that was nobody stays the same one. Any other change ends this client and
// gives its connection to a new one, which is returned: it is in no topic and no
// group, and learns that its session was not recovered. Once SetUser has returned
// no frame for the old user is queued or taken from a queue. Errors carry a Code:
// Invalid (bad name), NotFound (ended; or it had no connection, and ended now).
func (c *Client) SetUser(user string) (*Client, error) { return c.session.SetUser(user) }

// Topics returns the topics the client is subscribed to, sorted.
func (c *Client) Topics() []string { return c.session.Topics() }

// Groups returns the groups the client is in, sorted.
func (c *Client) Groups() []string { return c.session.Groups() }

// Queued returns the frames, and their bytes, that no socket has taken yet.
func (c *Client) Queued() (frames, bytes int) { return c.session.Queued() }

// Join subscribes the client to a topic, past the same authorisation as its own
// subscribe. Errors carry a Code: Denied, Invalid, Exhausted, NotFound (ended).
func (c *Client) Join(ctx context.Context, topic string) error { return c.session.Join(ctx, topic) }

// Leave ends the client's subscription to a topic; harmless when there is none.
func (c *Client) Leave(topic string) { c.session.Leave(topic) }

// JoinGroup adds the client to a group, with the errors of Join.
func (c *Client) JoinGroup(ctx context.Context, group string) error {
	return c.session.JoinGroup(ctx, group)
}

// LeaveGroup takes the client out of a group.
func (c *Client) LeaveGroup(group string) { c.session.LeaveGroup(group) }

// Disconnect closes the client's socket with a WebSocket close code and ends its
// session: from the call on no other socket gets it, and it is a target of nothing.
func (c *Client) Disconnect(code int, reason string) { c.session.Disconnect(code, reason) }

// ConnectedAt returns when the client's session began, to a tenth of a second.
func (c *Client) ConnectedAt() time.Time { return c.session.ConnectedAt() }

// Connected reports whether the client has a socket at this moment.
func (c *Client) Connected() bool { return c.session.Connected() }

// RemoteIP returns the address the client is connected from, "" without a socket.
func (c *Client) RemoteIP() string { return c.session.RemoteIP() }

// CallFrame implements Caller: it calls the client. That of a handler may be called
// from within. No client, as Hub.Client returns for an unknown id, is an error with
// code NotFound.
func (c *Client) CallFrame(ctx context.Context, call *wire.Call, request Encoded) (response []byte, err error) {
	if c == nil {
		return nil, Errorf(NotFound, "call %s: no such client", call.Name)
	}
	return c.session.CallFrame(ctx, call, request)
}
