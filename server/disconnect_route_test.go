package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
)

// postAdmin sends a body to a route of the rig.
func (r *rig) postAdmin(path, token, body string) (int, string) {
	r.t.Helper()
	resp, err := r.web.Client().Do(r.adminRequest(path, token, "application/json", body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

func (r *rig) adminRequest(path, token, kind, body string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.web.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

func TestDisconnectRoute(t *testing.T) {
	byHeader := func(_ context.Context, c server.Credentials) (server.Identity, error) {
		return server.Identity{ClientID: c.Request.URL.Query().Get("id"), UserID: c.Request.URL.Query().Get("user")}, nil
	}
	r := newRig(t, hub.Options{}, server.Options{AdminToken: "root", Authenticate: byHeader})
	const path = "/api/disconnect"
	one := r.join("?id=one&user=ann", "")
	two := r.join("?id=two&user=bob", "")
	three := r.join("?id=three&user=bob", "")
	eventually(t, "all are admitted", func() bool { return r.hub.Len() == 3 })
	for _, c := range []struct {
		token, body string
		status      int
		answer      string
	}{
		{"", `{"client":"one"}`, 401, "admin token"},
		{"wrong", `{"client":"one"}`, 401, "admin token"},
		{"root", ``, 400, "not JSON"},
		{"root", `[]`, 400, "write an object"},
		{"root", `{}`, 400, "write exactly one of"},
		{"root", `{"client":"one","user":"ann"}`, 400, "write exactly one of"},
		{"root", `{"client":""}`, 400, "write exactly one of"},
		{"root", `{"client":1}`, 400, `"pointer":"/client"`},
		{"root", `{"clinet":"one"}`, 400, "unknown property"},
		{"root", `{"client":"one","code":1006}`, 400, "close code 1006 cannot be sent"},
		{"root", `{"client":"one","code":"x"}`, 400, `"pointer":"/code"`},
		{"root", `{"client":"one","reason":"` + strings.Repeat("x", 124) + `"}`, 400, "a close frame takes 123"},
		{"root", `{"client":"` + strings.Repeat("x", 5000) + `"}`, 400, "longer than 4096 bytes"},
		{"root", `{"client":"nobody"}`, 200, `{"disconnected":0}`},
		{"root", `{"user":"nobody"}`, 200, `{"disconnected":0}`},
		{"root", `{"client":"one","code":4001,"reason":"enough"}`, 200, `{"disconnected":1}`},
		{"root", `{"user":"bob"}`, 200, `{"disconnected":2}`},
	} {
		if status, answer := r.postAdmin(path, c.token, c.body); status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%.60s: %d %s; want %d %s", c.body, status, answer, c.status, c.answer)
		}
	}
	one.expectEnd(4001, "enough")
	two.expectEnd(4403, "closed by server")
	three.expectEnd(4403, "closed by server")
	eventually(t, "all sessions have ended", func() bool { return r.hub.Len() == 0 })
	if resp, err := r.web.Client().Do(r.adminRequest(path, "root", "text/plain", `{"user":"bob"}`)); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a form of another site: %v %v", resp, err)
	} else {
		resp.Body.Close()
	}
	if status, _ := r.get(path, "root"); status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", status)
	}
	closed := newRig(t, hub.Options{}, server.Options{})
	if status, _ := closed.postAdmin(path, "", `{"client":"one"}`); status != http.StatusNotFound {
		t.Errorf("without an admin token: %d", status)
	}
}
