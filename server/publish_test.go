package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
)

// recordingHub keeps what is published.
type recordingHub struct {
	nova.Hub  // what these tests do not use
	mu        sync.Mutex
	published []nova.Publication
	err       error
	hold      chan struct{} // when set, publishes wait for it
}

func (h *recordingHub) PublishFrame(_ context.Context, p nova.Publication) (nova.Result, error) {
	if h.hold != nil {
		<-h.hold
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nova.Result{}, h.err
	}
	p.Frame = bytes.Clone(p.Frame)
	h.published = append(h.published, p)
	return nova.Result{Offset: uint64(len(h.published)), Members: 3}, nil
}

func (h *recordingHub) HandleFrame(*wire.Event, nova.FrameHandler) (func(), error) {
	return nil, errors.New("no handlers here")
}

func publishLayout(t *testing.T) *wire.Layout {
	t.Helper()
	l := &wire.Layout{Package: "test", Tables: []wire.Table{{Name: "Tick", Fields: []wire.Field{
		{Name: "symbol", JSON: "symbol", Kind: wire.String}, {Name: "n", JSON: "n", Kind: wire.Int64}}}},
		Events: []wire.Event{{Name: "tick", ID: wire.EventID("tick")}}}
	if err := l.Init(); err != nil {
		t.Fatal(err)
	}
	return l
}

const tick = `"event":"tick","data":{"symbol":"A","n":1}`

// post sends one request to the handler, as from this machine.
func post(h http.Handler, body, contentType string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://localhost:3000/api/publish", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:5000"
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPublishTargets(t *testing.T) {
	l := publishLayout(t)
	for _, c := range []struct {
		target string
		want   nova.Target
	}{
		{``, nova.Broadcast()},
		{`,"target":null`, nova.Broadcast()},
		{`,"target":{}`, nova.Broadcast()},
		{`,"target":{"broadcast":true}`, nova.Broadcast()},
		{`,"target":{"except":"c1"}`, nova.Broadcast().But("c1")},
		{`,"target":{"topic":"t"}`, nova.Topic("t")},
		{`,"target":{"topics":["t","u"],"except":"c1"}`, nova.Topics("t", "u").But("c1")},
		{`,"target":{"group":"g"}`, nova.Group("g")},
		{`,"target":{"user":"ü"}`, nova.User("ü")},
		{`,"target":{"userGroup":"g"}`, nova.UserGroup("g")},
		{`,"target":{"client":"c"}`, nova.ClientID("c")},
	} {
		hub := &recordingHub{}
		w := post(server.PublishHandler(hub, l, server.PublishOptions{}), "{"+tick+c.target+"}", "application/json; charset=utf-8")
		if w.Code != 200 || w.Body.String() != `{"members":3,"offset":1}`+"\n" {
			t.Errorf("%s: %d %s", c.target, w.Code, w.Body)
			continue
		}
		p := hub.published[0]
		if !reflect.DeepEqual(p.Target, c.want) || p.Event.Name != "tick" || p.Unsafe != nil {
			t.Errorf("%s: published %+v", c.target, p)
		}
		if _, text, err := l.FrameJSON(nil, p.Frame); err != nil || string(text) != `{"symbol":"A","n":1}` {
			t.Errorf("frame holds %s, %v", text, err)
		}
	}
}

func TestPublishRefusals(t *testing.T) {
	h := server.PublishHandler(&recordingHub{}, publishLayout(t), server.PublishOptions{MaxRequest: 300})
	for _, c := range []struct {
		body, pointer, message string
		status                 int
	}{
		{`{"event":"tik","data":{}}`, "/event", `unknown event "tik"; did you mean "tick"?`, 404},
		{`{"data":{}}`, "/event", "the event is missing", 400},
		{`{"event":7,"data":{}}`, "/event", "write a string", 400},
		{`{"event":"tick"}`, "/data", "the data is missing", 400},
		{`{"event":"tick","data":{"symbol":"A","n":"x"}}`, "/data/n", `found the string "x"; write a whole number`, 400},
		{`{"event":"tick","data":[]}`, "/data", "found an array; write an object", 400},
		{`{"event":"tick","data":{"symbol":"A","n":1},"topic":"t"}`, "/topic", "unknown property; write one of event, target", 400},
		{`{"event":"tick","event":"tick"}`, "/event", "stands twice", 400},
		{`{` + tick + `,"target":{"topic":"a","group":"b"}}`, "/target", "the target names 2 receivers; write exactly one of", 400},
		{`{` + tick + `,"target":{"topik":"a"}}`, "/target/topik", "unknown property", 400},
		{`{` + tick + `,"target":{"topic":""}}`, "/target/topic", "the name is empty", 400},
		{`{` + tick + `,"target":{"topic":null}}`, "/target/topic", "write a string", 400},
		{`{` + tick + `,"target":{"topics":[]}}`, "/target/topics", "an array of topic names", 400},
		{`{` + tick + `,"target":{"topics":"a"}}`, "/target/topics", "an array of topic names", 400},
		{`{` + tick + `,"target":{"broadcast":false}}`, "/target/broadcast", "write true", 400},
		{`{` + tick + `,"target":"all"}`, "/target", "write an object", 400},
		{`{` + tick + `,"idempotencyKey":"` + strings.Repeat("k", 65) + `"}`, "/idempotencyKey", "65 bytes; at most 64", 400},
		{`{` + tick, "", "not JSON: unexpected EOF", 400},
		{`{` + tick + `} x`, "", "nothing after it", 400},
		{``, "", "not JSON", 400},
		{`{"event":"tick","data":{"symbol":"` + strings.Repeat("A", 300) + `"}}`, "", "longer than 300 bytes", 400},
	} {
		w := post(h, c.body, "application/json")
		var got struct{ Code, Message, Pointer string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		if w.Code != c.status || got.Pointer != c.pointer || !strings.Contains(got.Message, c.message) || strings.Contains(got.Message, "\n") {
			t.Errorf("%s\n gave %d %s", c.body, w.Code, w.Body)
		}
	}
	if w := post(h, `{}`, "text/plain"); w.Code != 400 || !strings.Contains(w.Body.String(), "application/x-ndjson") {
		t.Errorf("wrong type: %d %s", w.Code, w.Body)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/publish", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", w.Code, w.Header())
	}
}

func TestPublishHubErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{nova.Errorf(nova.Exhausted, "no room"), 429, `{"code":"exhausted","message":"no room","pointer":""}`},
		{nova.Errorf(nova.Denied, "no"), 403, `{"code":"denied","message":"no","pointer":""}`},
		{nova.Errorf(nova.FailedPrecondition, "closed"), 500, `{"code":"failed_precondition","message":"closed","pointer":""}`},
		{context.DeadlineExceeded, 504, `{"code":"deadline_exceeded","message":"context deadline exceeded","pointer":""}`},
		{errors.New("secret path"), 500, `{"code":"internal","message":"internal error","pointer":""}`},
	} {
		w := post(server.PublishHandler(&recordingHub{err: c.err}, publishLayout(t), server.PublishOptions{}), "{"+tick+"}", "application/json")
		if w.Code != c.status || strings.TrimSpace(w.Body.String()) != c.body {
			t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
		}
	}
}

func TestPublishUnsafe(t *testing.T) {
	hub := &recordingHub{}
	post(server.PublishHandler(hub, publishLayout(t), server.PublishOptions{}), `{"event":"tick","data":{"symbol":"","n":"9007199254740993"}}`, "application/json")
	var unsafe *wire.Int64Error
	if len(hub.published) != 1 || !errors.As(hub.published[0].Unsafe, &unsafe) || unsafe.Path != "n" {
		t.Errorf("published %+v", hub.published)
	}
}

func TestPublishAccess(t *testing.T) {
	l := publishLayout(t)
	for _, c := range []struct {
		name   string
		opts   server.PublishOptions
		change func(*http.Request)
		status int
	}{
		{"loopback", server.PublishOptions{}, func(*http.Request) {}, 200},
		{"loopback v6", server.PublishOptions{}, func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:80", "[::1]:3000" }, 200},
		{"mapped", server.PublishOptions{}, func(r *http.Request) { r.RemoteAddr = "[::ffff:127.0.0.1]:80" }, 200},
		{"remote", server.PublishOptions{}, func(r *http.Request) { r.RemoteAddr = "192.0.2.1:80" }, 403},
		{"proxied", server.PublishOptions{}, func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") }, 403},
		{"rebound name", server.PublishOptions{}, func(r *http.Request) { r.Host = "malicious.example:3000" }, 403},
		{"token", server.PublishOptions{Token: "s3"}, func(r *http.Request) {
			r.RemoteAddr = "192.0.2.1:80"
			r.Header.Set("Authorization", "Bearer s3")
		}, 200},
		{"no token", server.PublishOptions{Token: "s3"}, func(*http.Request) {}, 401},
		{"wrong token", server.PublishOptions{Token: "s3"}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer s") }, 401},
		{"function", server.PublishOptions{Authorize: func(*http.Request) error { return errors.New("closed on Sundays") }}, func(*http.Request) {}, 403},
		{"coded", server.PublishOptions{Authorize: func(*http.Request) error { return nova.Errorf(nova.Unauthenticated, "who?") }}, func(*http.Request) {}, 401},
		{"allowed", server.PublishOptions{Authorize: func(*http.Request) error { return nil }}, func(r *http.Request) { r.RemoteAddr = "192.0.2.1:80" }, 200},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost:3000/api/publish", strings.NewReader("{"+tick+"}"))
		r.RemoteAddr = "127.0.0.1:5000"
		r.Header.Set("Content-Type", "application/json")
		c.change(r)
		w := httptest.NewRecorder()
		server.PublishHandler(&recordingHub{}, l, c.opts).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}

func TestPublishLines(t *testing.T) {
	hub := &recordingHub{}
	h := server.PublishHandler(hub, publishLayout(t), server.PublishOptions{MaxRequest: 100})
	good := "{" + tick + "}"
	body := strings.Join([]string{good, "", `{"event":"no"}`, "\r", strings.Repeat("x", 100_000), good + "\r", strings.Repeat(" ", 100-len(good)) + good, good}, "\n")
	w := post(h, body, "application/x-ndjson")
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		var v struct {
			Offset  int
			Message string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(v.Offset, v.Message))
	}
	want := []string{"1", "0the data is missing; write the event's payload as an object", "0the line is longer than 100 bytes", "2", "3", "4"}
	if w.Code != 200 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d %q", w.Code, got)
	}
}

// Each answer comes before the next line is sent.
func TestPublishStreams(t *testing.T) {
	srv := httptest.NewServer(server.PublishHandler(&recordingHub{}, publishLayout(t), server.PublishOptions{}))
	defer srv.Close()
	in, out := io.Pipe()
	r, err := http.NewRequest(http.MethodPost, srv.URL, in)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	go func() { _, _ = io.WriteString(out, "{"+tick+"}\n") }()
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answers := bufio.NewScanner(resp.Body)
	for i := 1; i <= 100; i++ {
		if !answers.Scan() || answers.Text() != fmt.Sprintf(`{"members":3,"offset":%d}`, i) {
			t.Fatalf("answer %d: %s %v", i, answers.Text(), answers.Err())
		}
		if _, err := io.WriteString(out, "{"+tick+"}\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPublishIdempotency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := &recordingHub{}
		h := server.PublishHandler(hub, publishLayout(t), server.PublishOptions{})
		send := func(key string) string {
			return strings.TrimSpace(post(h, `{`+tick+`,"idempotencyKey":"`+key+`"}`, "application/json").Body.String())
		}
		check := func(key, want string) {
			t.Helper()
			if got := send(key); got != want {
				t.Errorf("key %s: %s, want %s", key, got, want)
			}
		}
		check("a", `{"members":3,"offset":1}`)
		check("b", `{"members":3,"offset":2}`)
		check("a", `{"members":3,"offset":1,"repeated":true}`)
		time.Sleep(2*time.Minute + time.Second) // the bubble's clock
		check("a", `{"members":3,"offset":3}`)

		hub.err = nova.Errorf(nova.Exhausted, "full")
		check("c", `{"code":"exhausted","message":"full","pointer":""}`)
		hub.err = nil
		check("c", `{"members":3,"offset":4}`)

		// A repeat that comes while the first is on its way waits for it.
		hub.hold = make(chan struct{})
		answers := make(chan string, 2)
		for range 2 {
			go func() { answers <- send("d") }()
		}
		synctest.Wait()
		close(hub.hold)
		one, two := <-answers, <-answers
		if len(hub.published) != 5 || strings.Contains(one, "repeated") == strings.Contains(two, "repeated") {
			t.Errorf("%s and %s, %d published", one, two, len(hub.published))
		}

		check("old", `{"members":3,"offset":6}`)
		for i := range 65_536 {
			send(fmt.Sprint("k", i))
		}
		check("old", fmt.Sprintf(`{"members":3,"offset":%d}`, 65_536+7))
	})
}
