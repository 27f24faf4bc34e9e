package hub

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire/control"
)

// mute is a socket that does nothing.
type mute struct{}

func (mute) Flush()            {}
func (mute) Close(int, string) {}
func (mute) Caps() Caps        { return CapSession }
func (mute) Near()             {}

func (mute) FlushAll(peers []Peer) { FlushEach(peers) }

// openMute returns a session of a user with a socket, "" = of nobody.
func openMute(t *testing.T, user string, c *session.Cursor) *Session {
	t.Helper()
	h, err := New(Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s, err := h.Open(t.Context(), Identity{UserID: user}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Attach(mute{}, c)
	if _, err := s.AttachClient(c, &control.Attach{}, Terms{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// waitsIn returns when a goroutine waits for a mutex in a method of Session.
func waitsIn(t *testing.T, method string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); runtime.Gosched() {
		for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "[sync.Mutex.Lock") && strings.Contains(g, fmt.Sprintf("(*Session).%s(", method)) {
				return
			}
		}
	}
	t.Fatalf("nobody waits in %s", method)
}

// The loss of a socket in the middle of a change of user is the loss of the new
// session's. It is an internal test: from outside only chance lets the two meet.
func TestSocketIsLostWhileTheUserChanges(t *testing.T) {
	var c session.Cursor
	s := openMute(t, "ann", &c)
	box := s.box()
	box.mu.Lock() // SetUser asks it, holding the state
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.SetUser("eve"); err != nil {
			t.Error(err)
		}
	})
	waitsIn(t, "SetUser")
	wg.Go(func() { s.Lost(&c, 1000, true) })
	waitsIn(t, "Lost")
	box.mu.Unlock()
	wg.Wait()
	if n := s.hub.Len(); n != 0 {
		t.Errorf("%d sessions stay", n)
	}
}

// A session that ended while its user was given gets no string that would keep it.
func TestNoStringBehindTheEnd(t *testing.T) {
	var c session.Cursor
	s := openMute(t, "", &c)
	s.end(false, EndDisconnect)
	s.rename()
	if n := len(s.hub.strings); n != 0 {
		t.Errorf("%d strings are left", n)
	}
	s.Lost(&c, 1000, false)
}

// Loss and return are told in their order, however long it takes to end the calls of the
// lost socket. It is an internal test for the same reason.
func TestLossIsToldBeforeTheReturn(t *testing.T) {
	var first, second session.Cursor
	s := openMute(t, "", &first)
	told := make(chan string, 2)
	s.hub.options.OnLost = func(context.Context, *nova.Client, int) { told <- "lost" }
	s.hub.options.OnRestored = func(context.Context, *nova.Client) { told <- "restored" }
	text := s.newString()
	s.hub.clientsMu.Lock()
	s.hub.strings[s.hash] = s
	s.hub.clientsMu.Unlock()
	cs := s.callState()
	cs.mu.Lock() // Lost asks it about the calls to end
	var wg sync.WaitGroup
	wg.Go(func() { s.Lost(&first, 1006, false) })
	waitsIn(t, "cutCalls")
	next, err := s.hub.Open(t.Context(), Identity{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	next.Attach(mute{}, &second)
	if got, err := next.AttachClient(&second, &control.Attach{Session: text}, Terms{}); err != nil || got != s {
		t.Fatal(got, err)
	}
	cs.mu.Unlock()
	wg.Wait()
	if a, b := <-told, <-told; a != "lost" || b != "restored" {
		t.Errorf("told %s, then %s", a, b)
	}
}
