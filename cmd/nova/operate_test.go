package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fakeAdmin is a server of the administrative routes with given answers.
func fakeAdmin(t *testing.T, answer func(r *http.Request, body string) (int, string)) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, text := answer(r, string(body))
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func TestClients(t *testing.T) {
	since := time.Now().Add(-90 * time.Minute).UTC().Format(time.RFC3339)
	url := fakeAdmin(t, func(r *http.Request, _ string) (int, string) {
		if r.Header.Get("Authorization") != "Bearer "+adminToken || r.URL.Path != "/clients" {
			return 401, "no"
		}
		return 200, `[{"id":"b","userId":"bob","meta":{"plan":"pro"},"groups":["g"],"topics":["t","u"],"connectedAt":"` + since + `","ip":"10.0.0.1","connected":true,"queued":7},
			{"id":"a","groups":[],"topics":[],"connectedAt":"2020-01-01T00:00:00Z","ip":"","connected":false,"queued":0}]`
	})
	got := runNova(t, "", "clients", "--url", url, "--token", adminToken)
	lines := strings.Split(got.stdout, "\n")
	if got.code != 0 || len(lines) != 5 || strings.Join(strings.Fields(lines[0]), " ") != "ID USER FOR IP QUEUED TOPICS GROUPS" ||
		!strings.HasPrefix(lines[1], "a   -     ") || !strings.Contains(lines[1], "away") || strings.Join(strings.Fields(lines[2]), " ") != "b bob 1h 10.0.0.1 7 2 1" || lines[3] != "2 clients, 1 connected" {
		t.Error(got)
	}
	t.Setenv("NOVA_ADMIN_TOKEN", adminToken)
	if got := runNova(t, "", "clients", "b", "--url", url); got.code != 0 || !strings.Contains(got.stdout, "topics  t, u\n") || !strings.Contains(got.stdout, `meta    {"plan":"pro"}`) {
		t.Error(got)
	}
	if got := runNova(t, "", "clients", "b", "--url", url, "--json"); got.code != 0 || !strings.HasPrefix(got.stdout, `{"id":"b","userId":"bob","meta":{"plan":"pro"},`) || strings.Count(got.stdout, "\n") != 1 {
		t.Error(got)
	}
	watch := start(t, "clients", "--url", url, "--watch", "--interval", "100ms", "--json")
	for range 3 {
		if line := watch.line(t, "bob"); !strings.HasPrefix(line, `[{"id":"b"`) {
			t.Error(line)
		}
	}
	if code := watch.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, watch.stderr)
	}
	fails(t, 1, []string{"clients", "c", "--url", url}, `there is no client "c"`)
	fails(t, 2, []string{"clients", "c", "d"}, `unexpected argument "d"`)
	fails(t, 2, []string{"clients", "--interval", "1ms"}, "--interval 1ms is out of range")
	fails(t, 1, []string{"clients", "--url", url, "--token", "wrong"}, "does not take this token")
	fails(t, 1, []string{"clients", "--url", url, "--token-file", "x"}, "cannot read x (no such file or directory)")
	fails(t, 2, []string{"clients", "--url", url, "--token", "a", "--token-file", "x"}, "both given")
}

func TestDisconnect(t *testing.T) {
	url := fakeAdmin(t, func(r *http.Request, body string) (int, string) {
		switch {
		case r.Method != http.MethodPost || r.URL.Path != "/api/disconnect" || r.Header.Get("Content-Type") != "application/json":
			return 500, "?"
		case body == `{"client":"a","code":4403}`:
			return 200, `{"disconnected":1}`
		case body == `{"user":"bob","code":1012,"reason":"bye"}`:
			return 200, `{"disconnected":1200}`
		case strings.Contains(body, `"reason":"long"`):
			return 400, `{"code":"invalid","message":"the reason is too long","pointer":"/reason"}`
		}
		return 200, `{"disconnected":0}`
	})
	if got := runNova(t, "", "disconnect", "a", "--url", url); got.code != 0 || got.stdout != "1 session ended\n" {
		t.Error(got)
	}
	if got := runNova(t, "", "disconnect", "--user", "bob", "--code", "1012", "--reason", "bye", "--url", url); got.code != 0 || got.stdout != "1,200 sessions ended\n" {
		t.Error(got)
	}
	if got := runNova(t, "", "disconnect", "a", "--json", "--url", url); got.code != 0 || got.stdout != "{\"disconnected\":1}\n" {
		t.Error(got)
	}
	fails(t, 1, []string{"disconnect", "b", "--url", url}, `there is no client "b"`)
	fails(t, 1, []string{"disconnect", "--user", "b", "--url", url}, `user "b" has no session`)
	fails(t, 1, []string{"disconnect", "b", "--reason", "long", "--url", url}, "the reason is too long (invalid)")
	for _, code := range []string{"0", "7", "1005", "1014", "2999", "5000"} {
		fails(t, 2, []string{"disconnect", "b", "--code", code, "--url", url}, "--code "+code+" cannot be sent; write 1000, 1001")
	}
	fails(t, 2, []string{"disconnect"}, "nobody is named")
	fails(t, 2, []string{"disconnect", "--user", ""}, "the name is empty")
	fails(t, 2, []string{"disconnect", "", "--url", url}, "the name is empty")
	fails(t, 2, []string{"disconnect", "a", "--user", "b"}, "both a client and --user are given")
	fails(t, 2, []string{"disconnect", "a", "b"}, `unexpected argument "b"`)
}

func TestAdminAnswers(t *testing.T) {
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{404, "404 page not found", "has no /clients; a nova server has it when it was started with an admin token"},
		{401, "", "wants its admin token; give it with --token, --token-file or NOVA_ADMIN_TOKEN"},
		{502, "<html>", "answered 502 Bad Gateway"},
		{200, "<html>", "is not what nova serve sends"},
		{200, `[{"id":1}]`, "is not what nova serve sends"},
	} {
		url := fakeAdmin(t, func(*http.Request, string) (int, string) { return c.status, c.answer })
		fails(t, 1, []string{"clients", "--url", url}, "nova clients: ", c.want)
	}
}

func TestHealth(t *testing.T) {
	status := 200
	url := fakeAdmin(t, func(r *http.Request, _ string) (int, string) {
		if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "" {
			return 500, "?"
		}
		return status, `{"status":"draining"}`
	})
	t.Setenv("NOVA_TOKEN", "secret")
	if got := runNova(t, "", "health", "--url", url); got.code != 0 || got.stdout != "ready\n" {
		t.Error(got)
	}
	status = 503
	fails(t, 1, []string{"health", "--url", url}, "is not ready: 503 Service Unavailable draining")
	fails(t, 2, []string{"health", "--timeout", "0s"}, "--timeout 0s is out of range")
	hung := make(chan struct{})
	slow := fakeAdmin(t, func(*http.Request, string) (int, string) { <-hung; return 200, "" })
	fails(t, 1, []string{"health", "--url", slow, "--timeout", "50ms"}, "did not answer within 50ms")
	close(hung)
}
