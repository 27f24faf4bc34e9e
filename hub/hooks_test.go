package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
)

// hookLog notes the calls of all hooks.
type hookLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *hookLog) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *hookLog) options() hub.Options {
	move := func(what string) func(context.Context, *nova.Client, hub.Move) {
		return func(_ context.Context, c *nova.Client, m hub.Move) {
			kind := "topic"
			if m.Kind == nova.ToGroup {
				kind = "group"
			}
			l.add("%s %s %s %s: %v", c.ID(), what, kind, m.Name, m.Cause)
		}
	}
	return hub.Options{
		OnConnect: func(_ context.Context, c *nova.Client) { l.add("%s in %v %v", c.ID(), c.Topics(), c.Groups()) },
		OnDisconnect: func(_ context.Context, c *nova.Client, why hub.EndReason) {
			l.add("%s out %v %v: %v", c.ID(), c.Topics(), c.Groups(), why)
		},
		OnJoin: move("joins"), OnLeave: move("leaves"),
	}
}

func TestHooksInOrder(t *testing.T) {
	var log hookLog
	o, waited := log.options(), make(chan struct{})
	note := o.OnJoin
	o.OnJoin = func(ctx context.Context, c *nova.Client, m hub.Move) {
		if note(ctx, c, m); m.Name == "wait" {
			close(waited)
		}
	}
	h := newHub(t, o)
	p := connect(t, h, hub.Identity{ClientID: "a", UserID: "ann", Topics: []string{"t1"}, Groups: []string{"g1"}})
	p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: "t2"})
	p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: "t2"}) // again: no move
	p.session.EnterGroup(&p.cursor, "g2")
	p.session.Unsubscribe(&p.cursor, "t1")
	p.session.ExitGroup(&p.cursor, "g1")
	p.session.ExitGroup(&p.cursor, "g9") // not in it: no move
	p.session.EnterGroup(&p.cursor, "wait")
	<-waited
	if err := p.session.Join(t.Context(), "t3"); err != nil {
		t.Fatal(err)
	}
	p.session.Leave("t3")
	p.session.LeaveGroup("wait")
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := log.lines
	at := slices.Index(got, "a leaves group wait: api")
	if at < 0 {
		t.Fatal(got)
	}
	slices.Sort(got[at+1 : len(got)-1]) // of the end: no order among them
	want := `a in [t1] [g1]
a joins group g1: seed
a joins topic t1: seed
a joins topic t2: frame
a joins group g2: frame
a leaves topic t1: frame
a leaves group g1: frame
a joins group wait: frame
a joins topic t3: api
a leaves topic t3: api
a leaves group wait: api
a leaves group g2: end
a leaves topic t2: end
a out [] []: shutdown`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// Joins and leaves of one name come as they happened, whoever made them.
func TestMovesAlternate(t *testing.T) {
	var log hookLog
	h := newHub(t, log.options())
	p := connect(t, h, hub.Identity{ClientID: "a"})
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for range 300 {
				if k%2 == 0 {
					p.session.Leave("t")
				} else if err := p.session.Join(context.Background(), "t"); err != nil && nova.CodeOf(err) != nova.Cancelled {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	in := false
	for _, line := range log.lines[1 : len(log.lines)-1] {
		if strings.Contains(line, "joins") == in {
			t.Fatalf("two moves the same way: %s", line)
		}
		in = !in
	}
	if in {
		t.Error("it never left")
	}
}
