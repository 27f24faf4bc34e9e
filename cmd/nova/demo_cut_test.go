package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/market"
)

// A cut client was told nothing, comes back to its session and has what it missed.
func TestDemoCut(t *testing.T) {
	_, url := startDemo(t, "--rate", "0")
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	lost := make(chan struct{}, 10)
	recovered := make(chan bool, 10)
	conn, err := client.Dial(ctx, url+"/ws?page=secret", client.Options{Schema: market.Schema,
		OnStatus: func(s client.Status) {
			if s.State == client.Reconnecting {
				lost <- struct{}{}
			}
		}, OnRecovered: func(ok bool) { recovered <- ok }})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Subscribe(ctx, "lobby"); err != nil {
		t.Fatal(err)
	}
	chats := make(chan string, 10)
	market.ChatEvent.Listen(conn, func(_ context.Context, m *market.Chat) error {
		chats <- m.Text
		return nil
	})
	cut := func(method, body string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, url+"/cut", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for range 2 {
		if code := cut("POST", `{"page":"secret"}`); code != 204 {
			t.Fatalf("cut: %d", code)
		}
		<-lost
		if got := runNova(t, "", "pub", "chat", `{"room":"lobby","text":"while away","ts":0}`, "--topic", "lobby", "--url", url); got.code != 0 {
			t.Fatal(got)
		}
		if ok := <-recovered; !ok {
			t.Error("the session was lost")
		}
		if text := <-chats; text != "while away" {
			t.Errorf("received %q", text)
		}
	}
	if len(chats) > 0 {
		t.Errorf("received %q again", <-chats)
	}
	for body, want := range map[string]int{`{"page":"other"}`: 404, `{"page":""}`: 404, `{}`: 404, `nonsense`: 400} {
		if code := cut("POST", body); code != want {
			t.Errorf("%s: %d, want %d", body, code, want)
		}
	}
	if code := cut("GET", ""); code != 405 {
		t.Errorf("GET: %d", code)
	}
}
