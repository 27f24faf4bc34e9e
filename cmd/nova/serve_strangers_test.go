package main

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// The address of a key set may hold a password, in one place or another.
func TestServeLogsNoAddressOfKeys(t *testing.T) {
	_, url, found := strings.Cut("http://"+freePort(t), "://")
	serve, _ := startServe(t, "--jwt-key-set-url", "http://me:pa55word@"+url+"/keys?key=qu3ry")
	serve.logged(t, "the key set cannot be read yet")
	if code := serve.end(t); code != 0 || !found {
		t.Errorf("exit %d", code)
	}
	if text := serve.stderr.String(); strings.Contains(text, "pa55word") || strings.Contains(text, "qu3ry") || !strings.Contains(text, url) {
		t.Errorf("log: %s", text)
	}
}

// A connection that asks for nothing, as browsers open ahead, or whose request does
// not end, does not make a failure of the end.
func TestServeEndsBesideOpenRequests(t *testing.T) {
	serve, url := startServe(t)
	for _, text := range []string{"", "GET /health HTTP/1.1\r\nHost: x\r\n", "GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	if code, body := fetch(t, url+"/health"); code != 200 { // accepted behind the others
		t.Fatalf("%d %s", code, body)
	}
	if code := serve.end(t); code != 0 || !strings.Contains(serve.stderr.String(), "requests were cut off") {
		t.Errorf("exit %d: %s", code, serve.stderr)
	}
}

// A body that does not come holds no connection for ever.
func TestServeGivesUpBodies(t *testing.T) {
	_, url := startServe(t, "--handshake-timeout", "200ms")
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(testTime))
	if _, err := io.WriteString(conn, "POST /api/publish HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401 ") {
		t.Errorf("%v, %q", err, answer)
	}
}

// Strangers who speak what nobody understands fill no log.
func TestServeLogsStrangersSparsely(t *testing.T) {
	cert, key := certificateFiles(t, t.TempDir(), "one")
	serve, url := startServe(t, "--tls-cert", cert, "--tls-key", key)
	const strangers = 30
	began := time.Now()
	for range strangers {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n") // what it says shows in the log
		_, _ = io.Copy(io.Discard, conn)                                       // until the server has hung up
		conn.Close()
	}
	serve.logged(t, "bogus greeting")
	if n, most := strings.Count(serve.stderr.String(), "bogus greeting"), int(time.Since(began).Seconds())+1; n > most {
		t.Errorf("%d lines, at most %d expected", n, most)
	}
}

// With no time to leave, clients are cut off, and the log says so and nothing else.
func TestServeDrainsAtOnce(t *testing.T) {
	serve, url := startServe(t, "--drain", "0s")
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if code := serve.end(t); code != 0 {
		t.Errorf("exit %d", code)
	}
	if text := serve.stderr.String(); !strings.Contains(text, "1 of 1 connections did not end in time and were cut off") || strings.Contains(text, "does not return") {
		t.Errorf("log: %s", text)
	}
}
