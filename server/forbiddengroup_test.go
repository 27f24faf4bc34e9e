package server_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// A group that AuthorizeGroup refuses is entered on no way, is announced on none, and
// nothing of it arrives; leaving asks nobody.
func TestForbiddenGroup(t *testing.T) {
	var closed atomic.Bool
	r := newRig(t, hub.Options{AuthorizeGroup: func(_ context.Context, _ *nova.Client, group string) error {
		if group == "secret" || closed.Load() {
			return nova.Errorf(nova.Denied, "not for you")
		}
		return nil
	}}, server.Options{Authenticate: func(context.Context, server.Credentials) (server.Identity, error) {
		return server.Identity{Groups: []string{"secret", "open"}}, nil
	}})
	for _, caps := range [][]string{nil, {"topics/1"}, {"session/1", "topics/1"}} {
		closed.Store(false)
		p := r.dial("", "")
		p.frame()
		var welcome control.Welcome
		p.control(control.WelcomeID, &welcome)
		if !slices.Equal(welcome.Groups, []string{"open"}) {
			t.Errorf("%v: welcome names %v", caps, welcome.Groups)
		}
		p.send(&control.Hello{Version: 2, Caps: caps})
		if len(caps) == 2 {
			p.attach(control.Attach{})
		}
		p.send(&control.JoinGroup{Group: "secret"})
		number := uint64(1)
		if caps != nil {
			var no control.TopicRejected
			p.expectFrame(control.TopicRejectedID, 1, &no)
			if no.Group != "secret" || no.Code != int64(nova.Denied) || no.Message != "not for you" || no.Topic != "" {
				t.Errorf("%v: %+v", caps, no)
			}
			number = 2
		}
		p.sync()
		c := r.hub.Client(welcome.ClientID)
		if err := c.JoinGroup(t.Context(), "secret"); nova.CodeOf(err) != nova.Denied {
			t.Errorf("%v: by the API: %v", caps, err)
		}
		if err := r.hub.Group("secret").Add(t.Context(), c.ID()); nova.CodeOf(err) != nova.Denied {
			t.Errorf("%v: by the group: %v", caps, err)
		}
		if n := r.publish(nova.Group("secret"), 1).Members; n != 0 || slices.Contains(r.hub.Groups(), "secret") {
			t.Errorf("%v: %d members", caps, n)
		}
		r.publish(nova.Group("open"), 2)
		p.expectQuote(number, 2)
		closed.Store(true)
		p.send(&control.LeaveGroup{Group: "open"})
		eventually(t, "it has left", func() bool { return len(c.Groups()) == 0 })
		p.net.Close()
	}
	if n := r.hub.Metrics().RejectedJoins; n != 3*4 {
		t.Errorf("%d joins were refused, want %d", n, 3*4)
	}
}
