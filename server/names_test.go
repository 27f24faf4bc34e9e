package server_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// badNames can name nothing; the table of docs/limits.md says why.
var badNames = map[string]string{
	"empty":             "",
	"too long":          strings.Repeat("x", 256),
	"too long in bytes": strings.Repeat("ü", 128),
	"very long":         strings.Repeat("x", 15_000),
	"zero byte":         "a\x00b",
	"line end":          "a\nb",
	"delete":            "a\x7fb",
	"C1 control":        "a\u0085b",
	"not UTF-8":         "a\xffb",
}

// namedFrames are all frames in which a client names something that a server would
// keep.
var namedFrames = map[string]func(name string) frameWriter{
	"subscribe":       func(name string) frameWriter { return &control.Subscribe{Topic: name} },
	"unsubscribe":     func(name string) frameWriter { return &control.Unsubscribe{Topic: name} },
	"joinGroup":       func(name string) frameWriter { return &control.JoinGroup{Group: name} },
	"leaveGroup":      func(name string) frameWriter { return &control.LeaveGroup{Group: name} },
	"snapshotRequest": func(name string) frameWriter { return &control.SnapshotRequest{Topic: name} },
	"nova.subscribe": func(name string) frameWriter {
		return &control.TopicSubscribe{ID: 1, Topic: name, Epoch: name, Offset: -1}
	},
	"rpcCall": func(name string) frameWriter { return &control.RpcCall{ID: name, Name: name, PayloadB64: name} },
}

// No frame with a bad name makes anything, reaches a hook or ends the connection.
func TestBadNamesInFrames(t *testing.T) {
	r := newRig(t, strictHooks(t), server.Options{MaxUndecodable: -1, AcceptRate: -1})
	for frame, make := range namedFrames {
		for what, name := range badNames {
			for _, caps := range [][]string{nil, {"topics/1"}} {
				p := r.join("", "", caps...)
				p.raw(make(name))
				p.raw(make(name))
				p.sync()
				p.net.Close()
				r.nothingMade(fmt.Sprint(frame, " with a name that is ", what, " ", caps))
			}
		}
	}
	for what, name := range badNames {
		p := r.join("?nova=2", "", "session/1", "topics/1")
		p.raw(&control.Attach{Session: name, Topics: []control.Cursor{{Topic: name, Epoch: name, Offset: 1}}})
		if name == badNames["not UTF-8"] {
			p.expectEnd(1002, "attach does not decode")
			continue
		}
		p.sync()
		r.nothingMade("nova.attach with a name that is " + what)
	}
}

// raw sends a frame with its strings as they are: what writes them replaces bytes that
// are not UTF-8.
func (p *rawPeer) raw(m frameWriter) {
	p.t.Helper()
	frame, err := m.AppendFrame(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.message(bytes.ReplaceAll(frame, []byte("\ufffd"), []byte("\xff\xff\xff")))
}

// strictHooks fail the test when they are asked about a bad name.
func strictHooks(t *testing.T) hub.Options {
	bad := map[string]bool{}
	for _, name := range badNames {
		bad[name] = true
	}
	check := func(_ context.Context, _ *nova.Client, name string) error {
		if bad[name] {
			t.Errorf("a hook was asked about %.20q", name)
		}
		return nil
	}
	return hub.Options{AuthorizeTopic: check, AuthorizeGroup: check}
}

func (r *rig) nothingMade(by string) {
	r.t.Helper()
	if m := r.hub.Metrics(); m.Topics != 0 || m.Groups != 0 || m.UserGroups != 0 {
		r.t.Errorf("%s made %d topics, %d groups, %d user groups", by, m.Topics, m.Groups, m.UserGroups)
	}
}

// Nor does a bad name of the application: it is told.
func TestBadNamesInCalls(t *testing.T) {
	r := newRig(t, strictHooks(t), server.Options{Authenticate: func(_ context.Context, c server.Credentials) (server.Identity, error) {
		name := badNames[c.Request.URL.Query().Get("name")]
		return server.Identity{Topics: []string{name}, Groups: []string{name}}, nil
	}})
	client := func() *nova.Client { return r.hub.Client(r.join("?name=line+end", "").id) }
	var c *nova.Client
	eventually(t, "the client is there", func() bool { c = client(); return c != nil })
	for what, name := range badNames {
		p := r.join("?name="+strings.ReplaceAll(what, " ", "+"), "")
		p.sync()
		ctx := t.Context()
		for call, err := range map[string]error{
			"Join":      c.Join(ctx, name),
			"JoinGroup": c.JoinGroup(ctx, name),
			"topic":     market.QuoteEvent.Publish(ctx, r.hub, nova.Topic(name), quote(1)),
			"topics":    market.QuoteEvent.Publish(ctx, r.hub, nova.Topics("a", name), quote(1)),
			"group":     market.QuoteEvent.Publish(ctx, r.hub, nova.Group(name), quote(1)),
			"user":      market.QuoteEvent.Publish(ctx, r.hub, nova.User(name), quote(1)),
			"userGroup": market.QuoteEvent.Publish(ctx, r.hub, nova.UserGroup(name), quote(1)),
			"client":    market.QuoteEvent.Publish(ctx, r.hub, nova.ClientID(name), quote(1)),
		} {
			if nova.CodeOf(err) != nova.Invalid {
				t.Errorf("%s with a name that is %s: %v", call, what, err)
			}
		}
		r.nothingMade("the API with a name that is " + what)
	}
}

// A client is in no more topics and groups than MaxTopicsPerClient, each, whoever
// puts it there; what it is told says so.
func TestMaxTopicsPerClient(t *testing.T) {
	const most = 10
	var names []string
	var cursors []control.Cursor
	for n := range 3 * most {
		names = append(names, fmt.Sprint("seed", n))
		cursors = append(cursors, control.Cursor{Topic: fmt.Sprint("cursor", n), Offset: -1})
	}
	r := newRig(t, hub.Options{MaxTopicsPerClient: most}, server.Options{
		Authenticate: func(_ context.Context, c server.Credentials) (server.Identity, error) {
			if c.Request.URL.Query().Has("seeds") {
				return server.Identity{Topics: names, Groups: names}, nil
			}
			return server.Identity{}, nil
		}})
	in := func(p *rawPeer, topics, groups int) {
		t.Helper()
		c := r.hub.Client(p.id)
		if a, b := len(c.Topics()), len(c.Groups()); a != topics || b != groups {
			t.Errorf("in %d topics and %d groups, want %d and %d", a, b, topics, groups)
		}
	}
	seeded := r.join("?nova=2&seeds=1", "", "session/1", "topics/1")
	seeded.attach(control.Attach{Topics: cursors})
	seeded.sync()
	in(seeded, most, most)

	p, _ := r.attach("", "", 0, cursors...)
	p.sync()
	in(p, most, 0)

	p = r.join("", "", "topics/1")
	for n := range 2 * most {
		p.send(&control.TopicSubscribe{ID: int64(n), Topic: fmt.Sprint(n), Offset: -1})
		p.send(&control.JoinGroup{Group: fmt.Sprint(n)})
	}
	for rejected := 0; rejected < 2*most; {
		head, payload, _ := p.frame()
		if head.ID != control.TopicRejectedID {
			continue
		}
		rejected++
		var no control.TopicRejected
		if err := no.UnmarshalNova(payload); err != nil || no.Code != int64(nova.Exhausted) {
			t.Errorf("%+v, %v", no, err)
		}
	}
	in(p, most, most)
	c := r.hub.Client(p.id)
	if err := c.Join(t.Context(), "one more"); nova.CodeOf(err) != nova.Exhausted {
		t.Error(err)
	}
	p.send(&control.Unsubscribe{Topic: "0"})
	p.sync()
	if err := c.Join(t.Context(), "one more"); err != nil {
		t.Error(err)
	}
}

// 10,000 topics, groups, users and event names that nobody knows leave the series of
// /metrics as they were.
func TestSeriesStayFew(t *testing.T) {
	const names, each = 10_000, 100
	r := newRig(t, hub.Options{Inbound: []string{"quote"}}, server.Options{
		AdminToken: "admin", AcceptRate: -1, Authenticate: userFromQuery})
	series := func() (n int) {
		for _, f := range r.scrape() {
			for _, m := range f.Metric {
				n++
				for _, l := range m.Label {
					if strings.Contains(l.GetValue(), "zz") {
						t.Errorf("%s has the label %q", f.GetName(), l.GetValue())
					}
				}
				if m.Histogram != nil {
					n += len(m.Histogram.Bucket)
				}
			}
		}
		return n
	}
	round := func(from, to int) {
		for at := from; at < to; at += each {
			p := r.join(fmt.Sprint("?user=zz", at), "", "topics/1")
			for n := at; n < at+each; n++ {
				p.send(&control.Subscribe{Topic: fmt.Sprint("zz", n)})
				p.send(&control.JoinGroup{Group: fmt.Sprint("zz", n)})
				p.frameOf(market.QuoteEvent.AppendFrame(nil, quote(n)))(0)
				r.publish(nova.User(fmt.Sprint("zz", n)), n)
				if err := r.hub.UserGroup(fmt.Sprint("zz", n)).Add(fmt.Sprint("zz", n)); err != nil {
					t.Fatal(err)
				}
			}
			unknown, err := market.QuoteEvent.AppendFrame(nil, quote(at))
			if err != nil {
				t.Fatal(err)
			}
			unknown[1]++
			p.message(unknown)
			p.sync()
		}
	}
	round(0, each)
	before := series()
	round(each, names)
	if m := r.hub.Metrics(); m.Topics != names || m.Groups != names || m.UserGroups != names {
		t.Errorf("%d topics, %d groups, %d user groups", m.Topics, m.Groups, m.UserGroups)
	}
	if after := series(); after != before {
		t.Errorf("%d series, before %d", after, before)
	}
}

// A snapshot passes the authorisation of joins: what is forbidden is not given, by no
// way.
func TestForbiddenTopic(t *testing.T) {
	r := newRig(t, hub.Options{AuthorizeTopic: func(_ context.Context, _ *nova.Client, topic string) error {
		if topic == "secret" {
			return nova.Errorf(nova.Denied, "not for you")
		}
		return nil
	}}, server.Options{Authenticate: func(context.Context, server.Credentials) (server.Identity, error) {
		return server.Identity{Topics: []string{"secret"}}, nil
	}})
	for n := range 3 {
		r.publish(nova.Topic("secret"), n)
		r.publish(nova.Topic("open"), 100+n)
	}
	for _, caps := range [][]string{nil, {"topics/1"}, {"session/1", "topics/1"}} {
		p := r.join("", "", caps...)
		if len(caps) == 2 {
			p.attach(control.Attach{Topics: []control.Cursor{{Topic: "secret"}}})
		}
		p.send(&control.SnapshotRequest{Topic: "secret"})
		p.send(&control.Subscribe{Topic: "secret"})
		p.send(&control.TopicSubscribe{ID: 1, Topic: "secret"})
		p.send(&control.SnapshotRequest{Topic: "open"})
		for open := 0; open < 3; {
			head, payload, _ := p.frame()
			var q market.Quote
			if head.ID != market.QuoteEvent.ID() || q.UnmarshalNova(payload) != nil {
				continue
			}
			if open++; q.Ts < 100 {
				t.Errorf("%v: got a quote of the secret topic", caps)
			}
		}
		r.publish(nova.Topic("secret"), 9)
		p.sync()
		for _, m := range p.queue {
			if strings.Contains(string(m.data), "S9") {
				t.Errorf("%v: the secret was published to it", caps)
			}
		}
	}
}
