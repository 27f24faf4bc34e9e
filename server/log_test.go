package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// lockedLog is where loggers of several goroutines write.
type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// logged returns the messages with their levels.
func (l *lockedLog) logged(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for line := range strings.Lines(l.String()) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		count[entry.Level+" "+entry.Msg]++
	}
	return count
}

// What an operator wants to know is logged, one line each, and no secret is in it.
func TestLog(t *testing.T) {
	const token, admin, query = "tok-en-of-clients", "tok-en-of-admins", "tok-en-in-the-query"
	var log lockedLog
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := newRig(t, hub.Options{Logger: logger, Backpressure: hub.Backpressure{MaxFrames: 4}}, server.Options{Logger: logger, Token: token, AdminToken: admin, Authenticate: byQuery,
		AuthorizeAdmin: func(*http.Request) error { panic("no") }})
	bearer := "Authorization: Bearer " + token + "\r\n"
	dial := func(query string, caps ...string) *rawPeer {
		return r.join("?nova=2&secret="+query+query, bearer, caps...)
	}

	for range 3 {
		if _, res := r.tryDial("?secret="+query, "Authorization: Bearer wrong-"+token+"\r\n"); res.StatusCode != 401 {
			t.Errorf("a wrong token: %s", res.Status)
		}
	}
	r.get("/clients", "wrong-"+admin)
	r.get("/clients", admin)
	polite := dial("&user=ann", "session/1", "topics/1")
	session := polite.attach(control.Attach{})
	polite.sync()
	rude := dial("&user=bob")
	rude.sync()
	rude.write(ws.AppendMasked(nil, ws.Text, []byte(token), [4]byte{}))
	rude.expectEnd(1003, "text frame received")
	slow := dial("&id=slow", "session/1")
	slow.attach(control.Attach{})
	slow.net.Close()
	r.detached(1)
	for range 5 {
		if err := market.OrderEvent.Publish(t.Context(), r.hub, nova.ClientID("slow"), &market.Order{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the slow client is ended", func() bool { return r.hub.Client("slow") == nil })
	if err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Quote{Ts: 1 << 60}); err != nil {
		t.Fatal(err)
	}
	if found, err := r.hub.Disconnect(polite.id, 0, ""); !found || err != nil {
		t.Fatal(found, err)
	}
	polite.untilClosed()
	if _, err := r.hub.DisconnectUser("ann", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.srv.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := log.logged(t)
	for message, want := range map[string]int{
		"INFO connection not authenticated":                                                  1, // or more, if the three took seconds
		"ERROR AuthorizeAdmin panicked":                                                      1,
		"DEBUG client connected":                                                             3,
		"WARN connection closed for a violation":                                             1,
		"DEBUG connection closed":                                                            2,
		"WARN slow client ended: what must arrive did not fit into its queue":                1,
		"WARN a published integer will change in browsers (logged once per event and field)": 1,
		"INFO client disconnected by order":                                                  1,
		"INFO user disconnected by order":                                                    1,
		"INFO shutdown begins":                                                               1,
		"INFO shutdown ended":                                                                1,
	} {
		if got[message] != want && (message != "INFO connection not authenticated" || got[message] == 0) {
			t.Errorf("%d lines %q, want %d", got[message], message, want)
		}
	}
	text := log.String()
	for _, secret := range []string{token, admin, query, session.Session, strings.Split(session.Session, ".")[1]} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q in it:\n%s", secret, text)
		}
	}
}

// What a client can cause as often as it likes fills no disk: the hub, too, writes of
// each message one line a second, and the next one says how many were left out.
func TestClientsFillNoLog(t *testing.T) {
	const times = 50
	synctest.Test(t, func(t *testing.T) {
		var log lockedLog
		logger := slog.New(slog.NewJSONHandler(&log, nil))
		refuse := func(_ context.Context, _ *nova.Client, name string) error {
			if name == "panic" {
				panic("no")
			}
			return errors.New("no")
		}
		r := newQuietRig(t, hub.Options{Logger: logger, AuthorizeTopic: refuse, AuthorizeGroup: refuse, MaxTopicsPerClient: 1000,
			OnConnect:        func(context.Context, *nova.Client) { panic("no") },
			AuthorizePublish: func(context.Context, *nova.Client, *wire.Event) error { panic("no") }}, server.Options{Logger: logger, Heartbeat: -1})
		market.QuoteEvent.On(r.hub, func(context.Context, *nova.Client, *market.Quote) error { return nil })
		_ = r.hub.AllowInbound("quote")
		for range 2 {
			p := r.greet(r.dialPipe())
			for range times {
				p.send(&control.Subscribe{Topic: "t"})
				p.send(&control.JoinGroup{Group: "g"})
				p.event(t, quote(1))
			}
			p.sync()
			synctest.Wait() // the hooks have run
			p.net.Close()
			time.Sleep(2 * time.Second)
		}
		got := log.logged(t)
		for message, want := range map[string]int{"INFO join refused": 4, "ERROR hook panicked": 2} {
			if got[message] != want {
				t.Errorf("%d lines %q, want %d", got[message], message, want)
			}
		}
		if text := log.String(); strings.Count(text, fmt.Sprintf(`"more":%d}`, times-1)) != 2 {
			t.Errorf("the log does not say how many lines are left out:\n%s", text)
		}
	})
}

// Handlers that fail on what clients send fill none either.
func TestFailingHandlersFillNoLog(t *testing.T) {
	const times = 50
	synctest.Test(t, func(t *testing.T) {
		var log lockedLog
		r := newQuietRig(t, hub.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, server.Options{Heartbeat: -1})
		market.QuoteEvent.On(r.hub, func(context.Context, *nova.Client, *market.Quote) error { return errors.New("no") })
		r.handle(func(context.Context, *nova.Client, *market.GetQuoteRequest) (*market.Quote, error) {
			return nil, errors.New("no")
		})
		p := r.greet(r.dialPipe(), "calls/1")
		for id := range int64(times) {
			p.event(t, quote(1))
			p.get(0, id, "x")
			p.replied(id, nova.Internal)
		}
		p.sync()
		synctest.Wait()
		p.net.Close()
		if got := log.logged(t); got["ERROR handler failed"] != 1 || got["ERROR call failed"] != 1 {
			t.Errorf("%v", got)
		}
		if n := r.hub.Metrics().HandlerErrors["quote"]; n != times {
			t.Errorf("%d are counted", n)
		}
	})
}

// The document names messages as the code writes them.
func TestDocumentedMessagesAreLogged(t *testing.T) {
	document, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, dir := range []string{".", "../hub", "../topiclog/filelog", "../jwtauth"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, "_test.go") {
				code.Write(text)
			}
		}
	}
	rows := regexp.MustCompile("(?m)^\\| (debug|info|warn|error) \\| `([^`]+)`").FindAllStringSubmatch(string(document), -1)
	if len(rows) < 15 {
		t.Fatalf("only %d messages are documented", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(code.String(), `"`+row[2]+`"`) {
			t.Errorf("nothing logs %q", row[2])
		}
	}
}
