package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// ask makes one request to the routes, without a network.
func ask(h http.Handler, method, path string, edit func(*http.Request)) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, nil)
	if edit != nil {
		edit(req)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func withBearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

var adminPaths = []string{"/clients", "/metrics", "/schema"}

func TestHealth(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	r.join("", "").sync()
	status, body := r.get("/health", "")
	var health map[string]any
	if err := json.Unmarshal([]byte(body), &health); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	uptime, ok := health["uptimeMs"].(float64)
	delete(health, "uptimeMs")
	if want := map[string]any{"status": "ok", "clients": 1.0}; !ok || uptime < 0 || !reflect.DeepEqual(health, want) {
		t.Errorf("health: %s", body)
	}
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ok"}`} {
		if status, body := r.get(path, ""); status != 200 || strings.TrimSpace(body) != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := r.get("/nothing", ""); status != 404 {
		t.Errorf("an unknown path: %d", status)
	}
	r.srv.Close()
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503} {
		if status, _ := r.get(path, ""); status != want {
			t.Errorf("%s once closed: %d", path, status)
		}
	}
	if _, body := r.get("/health", ""); !strings.Contains(body, `"status":"draining"`) {
		t.Errorf("health once closed: %s", body)
	}
}

func TestReadyzOfAClosedHub(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	if err := r.hub.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, body := r.get("/readyz", ""); status != 503 {
		t.Errorf("%d %s", status, body)
	}
}

func TestRoutesAreForReading(t *testing.T) {
	r := newQuietRig(t, hub.Options{}, server.Options{AdminToken: "root"})
	routes := r.srv.Routes()
	for _, path := range append([]string{"/health", "/healthz", "/readyz"}, adminPaths...) {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
			w := ask(routes, method, path, withBearer("root"))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, allowed are %q", method, path, w.Code, w.Header().Get("Allow"))
			}
		}
		for _, method := range []string{"GET", "HEAD"} {
			if w := ask(routes, method, path, withBearer("root")); w.Code != 200 {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
}

func TestAdminGate(t *testing.T) {
	coded := func(code nova.Code) func(*http.Request) error {
		return func(*http.Request) error { return nova.Errorf(code, "not you") }
	}
	for _, c := range []struct {
		name    string
		options server.Options
		edit    func(*http.Request)
		want    int
	}{
		{"closed by default", server.Options{}, nil, 404},
		{"closed for any token", server.Options{}, withBearer(""), 404},
		{"closed for the token of clients", server.Options{Token: "ws"}, withBearer("ws"), 404},
		{"no token", server.Options{AdminToken: "root"}, nil, 401},
		{"wrong token", server.Options{AdminToken: "root"}, withBearer("rooT"), 401},
		{"a part of the token", server.Options{AdminToken: "root"}, withBearer("roo"), 401},
		{"longer than the token", server.Options{AdminToken: "root"}, withBearer("roots"), 401},
		{"the token of clients", server.Options{AdminToken: "root", Token: "ws"}, withBearer("ws"), 401},
		{"authenticated like a client", server.Options{AdminToken: "root", Authenticate: byQuery}, nil, 401},
		{"in the query", server.Options{AdminToken: "root"}, func(r *http.Request) { r.URL.RawQuery = "token=root" }, 401},
		{"the right token", server.Options{AdminToken: "root"}, withBearer("root"), 200},
		{"allowed by the hook", server.Options{AuthorizeAdmin: func(*http.Request) error { return nil }}, nil, 200},
		{"by the hook, with a wrong token", server.Options{AdminToken: "root", AuthorizeAdmin: func(*http.Request) error { return nil }}, withBearer("x"), 200},
		{"by the token, not the hook", server.Options{AdminToken: "root", AuthorizeAdmin: coded(nova.Denied)}, withBearer("root"), 200},
		{"refused by the hook", server.Options{AuthorizeAdmin: func(*http.Request) error { return fmt.Errorf("secret cause") }}, nil, 401},
		{"denied by the hook", server.Options{AuthorizeAdmin: coded(nova.Denied)}, nil, 403},
		{"unavailable", server.Options{AuthorizeAdmin: coded(nova.Unavailable)}, nil, 503},
		{"panicked", server.Options{AuthorizeAdmin: func(*http.Request) error { panic("secret cause") }}, nil, 401},
		{"from far", server.Options{AuthorizeAdmin: server.FromLoopback}, nil, 404},
		{"from here", server.Options{AuthorizeAdmin: server.FromLoopback}, func(r *http.Request) { r.RemoteAddr, r.Host = "127.0.0.1:9", "localhost:3000" }, 200},
		{"from here, passed on", server.Options{AuthorizeAdmin: server.FromLoopback}, func(r *http.Request) {
			r.RemoteAddr, r.Host = "127.0.0.1:9", "localhost"
			r.Header.Set("X-Forwarded-For", "203.0.113.9")
		}, 404},
		{"from a page of a rebound name", server.Options{AuthorizeAdmin: server.FromLoopback}, func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:9", "evil.example" }, 404},
	} {
		r := newQuietRig(t, hub.Options{}, c.options)
		for _, path := range adminPaths {
			w := ask(r.srv.Routes(), "GET", path, c.edit)
			if w.Code != c.want {
				t.Errorf("%s: GET %s: %d, want %d", c.name, path, w.Code, c.want)
			}
			if strings.Contains(w.Body.String(), "secret cause") {
				t.Errorf("%s: the answer tells the cause: %s", c.name, w.Body)
			}
			if (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%s: %d with WWW-Authenticate %q", c.name, w.Code, w.Header().Get("WWW-Authenticate"))
			}
			if w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: GET %s may be kept by caches", c.name, path)
			}
		}
	}
}

func TestClientsRoute(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{Authenticate: byQuery, AdminToken: "root"})
	if _, body := r.get("/clients", "root"); strings.Join(strings.Fields(body), "") != "[]" {
		t.Errorf("nobody: %q", body)
	}
	began := time.Now().Add(-time.Second)
	p, _ := r.attach("&id=b&user=ann", "", 0)
	p.send(&control.JoinGroup{Group: "desk"})
	for _, topic := range []string{"t", "a\"b"} {
		p.send(&control.TopicSubscribe{ID: 1, Topic: topic, Offset: -1})
	}
	p.sync()
	away, _ := r.attach("&id=a", "", 0)
	away.net.Close()
	r.detached(1)
	r.publish(nova.ClientID("a"), 1)
	r.publish(nova.ClientID("a"), 2)
	eventually(t, "they are queued", func() bool { n, _ := r.hub.Client("a").Queued(); return n == 2 })
	_, body := r.get("/clients", "root")
	var list []map[string]any
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(body, err)
	}
	for _, c := range list {
		at, err := time.Parse(time.RFC3339, c["connectedAt"].(string))
		if err != nil || at.Before(began.Truncate(time.Second)) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("connected at %v, %v", c["connectedAt"], err)
		}
		delete(c, "connectedAt")
	}
	want := []map[string]any{
		{"id": "a", "groups": []any{}, "topics": []any{}, "ip": "", "connected": false, "queued": 2.0},
		{"id": "b", "userId": "ann", "groups": []any{"desk"}, "topics": []any{"a\"b", "t"}, "ip": "127.0.0.1", "connected": true, "queued": 0.0},
	}
	if !slices.EqualFunc(list, want, func(a, b map[string]any) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%s", body)
	}
}

func TestSchemaRoute(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{AdminToken: "root"})
	_, body := r.get("/schema", "root")
	want, err := json.Marshal(r.hub.Schema().Layout())
	if err != nil || strings.TrimSpace(body) != string(want) {
		t.Errorf("the schema is %.200s, %v", body, err)
	}
}
