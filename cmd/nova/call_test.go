package main

import (
	"strings"
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
