package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// ways are all ways on which an event can reach a client that is in topic t and group
// g, is user ann of the group staff, and whose id is me. Each brings the symbol that is
// its name.
var ways = map[string]func(r *rig, p *rawPeer, q *market.Quote) error{
	"broadcast": to(nova.Broadcast()), "all but another": to(nova.Broadcast().But("other")), "topic": to(nova.Topic("t")),
	"topics": to(nova.Topics("none", "t")), "group": to(nova.Group("g")), "user": to(nova.User("ann")),
	"user group": to(nova.UserGroup("staff")), "client": to(nova.ClientID("me")),
	"HTTP": func(r *rig, _ *rawPeer, q *market.Quote) error {
		body := fmt.Sprintf(`{"event":"quote","target":{"topic":"t"},"data":{"symbol":%q,"bid":1,"ask":2,"bidSize":1,"askSize":2,"ts":3}}`, q.Symbol)
		res, err := http.Post(r.web.URL+"/api/publish", "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if res.StatusCode != 200 {
			return fmt.Errorf("%s: %s", res.Status, answer)
		}
		return err
	},
	"handler": func(_ *rig, p *rawPeer, q *market.Quote) error {
		p.frameOf(market.ChatEvent.AppendFrame(nil, &market.Chat{Text: q.Symbol}))(1) // of a session its first
		return nil
	},
	"history": func(r *rig, p *rawPeer, q *market.Quote) error {
		err := to(nova.Topic("old"))(r, p, q)
		p.send(&control.Subscribe{Topic: "old"})
		return err
	},
	"snapshot": func(r *rig, p *rawPeer, q *market.Quote) error {
		err := to(nova.Topic("elsewhere"))(r, p, q)
		p.send(&control.SnapshotRequest{Topic: "elsewhere"})
		return err
	},
	"join by the server": func(r *rig, p *rawPeer, q *market.Quote) error {
		if err := to(nova.Topic("given"))(r, p, q); err != nil {
			return err
		}
		return r.hub.Client("me").Join(context.Background(), "given")
	},
}

func to(target nova.Target) func(*rig, *rawPeer, *market.Quote) error {
	return func(r *rig, _ *rawPeer, q *market.Quote) error {
		return market.QuoteEvent.Publish(context.Background(), r.hub, target, q)
	}
}

// Whatever way an event takes, it has the next number, and what came can be asked for
// again.
func TestEveryWayIsNumbered(t *testing.T) {
	for _, caps := range [][]string{nil, {"topics/1"}, {"session/1"}, {"session/1", "topics/1"}} {
		t.Run(strings.Join(caps, " "), func(t *testing.T) {
			r := newQuietRig(t, hub.Options{}, server.Options{Authenticate: byQuery})
			mux := http.NewServeMux()
			mux.Handle("/ws", r.srv)
			mux.Handle("/api/publish", server.PublishHandler(r.hub, r.hub.Schema().Layout(), server.PublishOptions{}))
			r.serve(mux)
			market.ChatEvent.On(r.hub, func(ctx context.Context, from *nova.Client, m *market.Chat) error {
				return market.QuoteEvent.Publish(ctx, nil, nova.ClientID(from.ID()), &market.Quote{Symbol: m.Text})
			})
			if err := r.hub.UserGroup("staff").Add("ann"); err != nil {
				t.Fatal(err)
			}
			p := r.join("?id=me&user=ann", "", caps...)
			var session control.Session
			if len(caps) > 0 && caps[0] == "session/1" {
				session = p.attach(control.Attach{})
			}
			p.send(&control.Subscribe{Topic: "t"})
			p.send(&control.JoinGroup{Group: "g"})
			eventually(t, "it is in both", func() bool {
				c := r.hub.Client("me")
				return c != nil && len(c.Topics()) == 1 && len(c.Groups()) == 1
			})
			last := uint64(0)
			next := func() (symbol string) {
				for {
					head, payload := p.data()
					var q market.Quote
					switch {
					case head.ID == control.PongID:
						continue
					case head.Seq != last+1:
						t.Fatalf("%+v after number %d", head, last)
					}
					last++
					if head.ID == market.QuoteEvent.ID() && q.UnmarshalNova(payload) == nil {
						return q.Symbol
					}
				}
			}
			for way, send := range ways {
				if err := send(r, p, &market.Quote{Symbol: way}); err != nil {
					t.Fatal(way, err)
				}
				if got := next(); got != way {
					t.Fatalf("%q came, want %q", got, way)
				}
			}
			if n := r.hub.Metrics().Frames.Numbered; n != last {
				t.Errorf("%d numbers were given, the last one that came is %d", n, last)
			}
			// All of it again, with the numbers of before.
			from := last
			if session.Session != "" {
				p.net.Close()
				r.detached(1)
				p = r.join("?id=me&user=ann", "", caps...)
				if m := p.attach(control.Attach{Session: session.Session}); !m.Recovered {
					t.Fatalf("%+v", m)
				}
			} else {
				p.send(&control.Resume{})
				var m control.Resumed
				p.control(control.ResumedID, &m)
				if !m.Ok || m.From != 1 {
					t.Fatalf("%+v", m)
				}
			}
			seen := map[string]bool{}
			for last = 0; last < from; {
				seen[next()] = true
			}
			if len(seen) != len(ways) {
				t.Errorf("%d of %d came again: %v", len(seen), len(ways), seen)
			}
		})
	}
}
