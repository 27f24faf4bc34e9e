package main

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

func TestCall(t *testing.T) {
	demo, url := startDemo(t, "--rate", "500")
	runNova(t, "", "sub", "quote", "--url", url, "--topic", "equities", "--count", "1") // the feed has begun
	got := runNova(t, "", "call", "getQuote", `{"symbol":"AAPL"}`, "--url", url)
	if got.code != 0 || !strings.HasPrefix(got.stdout, `{"symbol":"AAPL","bid":`) || strings.Count(got.stdout, "\n") != 1 || got.stderr != "" {
		t.Error(got)
	}
	if got := runNova(t, ` {"symbol":"KO"} `, "call", "getQuote", "-", "--url", url); got.code != 0 || !strings.HasPrefix(got.stdout, `{"symbol":"KO"`) {
		t.Error(got)
	}
	fails(t, 1, []string{"call", "getQuote", `{"symbol":"XYZ"}`, "--url", url}, `nova call: getQuote: there is no quote of "XYZ" (not_found)`)
	fails(t, 1, []string{"call", "getQuote", "--url", url}, "nova call: the JSON: /symbol: the required property is missing")
	fails(t, 1, []string{"call", "getQuot", "--url", url}, `unknown call "getQuot"; did you mean "getQuote"?`)
	fails(t, 2, []string{"call"}, "no call given")
	fails(t, 2, []string{"call", "a", "b", "c"}, `unexpected argument "c"`)
	fails(t, 2, []string{"call", "getQuote", "--timeout", "0s"}, "--timeout 0s is out of range")
	if code := demo.end(t); code != 0 {
		t.Errorf("exit %d, %s", code, demo.stderr)
	}
	fails(t, 1, []string{"call", "getQuote", "--url", url}, "no server at "+url)
}

// A server without a handler says so.
func TestCallNobodyHandles(t *testing.T) {
	schema := write(t, "calls.json", strings.Replace(tinySchema, `"events":`, `"calls": {"ask": {"request": {"type": "object", "properties": {}}, "response": {"type": "object", "properties": {}}}}, "events":`, 1))
	_, url := startDemo(t, "--schema", schema)
	fails(t, 1, []string{"call", "ask", "--url", url}, "nova call: ask: ", "(unimplemented)")
}

// What was received counts, also when the server then does not say goodbye.
func TestReceivedIsReceived(t *testing.T) {
	_, url := startDemo(t, "--rate", "500")
	proxy := withoutGoodbye(t, strings.TrimPrefix(url, "http://"))
	got := runNova(t, "", "sub", "quote", "--url", proxy, "--topic", "equities", "--count", "1", "--json")
	if got.code != 0 || strings.Count(got.stdout, "\n") != 1 || got.stderr != "" {
		t.Error(got)
	}
	got = runNova(t, "", "call", "getQuote", `{"symbol":"AAPL"}`, "--url", proxy)
	if got.code != 0 || !strings.HasPrefix(got.stdout, `{"symbol":"AAPL","bid":`) || got.stderr != "" {
		t.Error(got)
	}
}

// withoutGoodbye returns the address of a proxy that passes everything on but the
// close frames of clients.
func withoutGoodbye(t *testing.T, to string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			running.Go(func() {
				_, _ = io.Copy(from, server) // ends with either
				from.Close()
			})
			running.Go(func() {
				defer server.Close()
				_, _ = io.Copy(forgetful{server}, from)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return "http://" + listener.Addr().String()
}

// forgetful leaves out a close frame at the end of what it writes: 8 bytes, since it is
// masked and holds a code.
type forgetful struct{ io.Writer }

func (f forgetful) Write(b []byte) (int, error) {
	keep := b
	if at := len(b) - 8; at >= 0 && b[at] == 0x88 && b[at+1] == 0x82 {
		keep = b[:at]
	}
	_, err := f.Writer.Write(keep)
	return len(b), err
}
