package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestDemoMarket(t *testing.T) {
	demo, url := startDemo(t, "--rate", "500")
	if code, body := fetch(t, url+"/"); code != 200 || !strings.Contains(body, "app.js") {
		t.Errorf("page: %d %.100s", code, body)
	}
	if code, body := fetch(t, url+"/health"); code != 200 || !strings.Contains(body, `"status":"ok"`) {
		t.Errorf("health: %d %s", code, body)
	}
	code, body := fetch(t, url+"/schema")
	var layout wire.Layout
	if err := json.Unmarshal([]byte(body), &layout); code != 200 || err != nil || layout.Fingerprint != market.Schema.Fingerprint() {
		t.Errorf("schema: %d %v %.200s", code, err, body)
	}
	got := runNova(t, "", "sub", "quote", "trade", "--url", url, "--topic", "equities", "--count", "200", "--json")
	if got.code != 0 || strings.Count(got.stdout, "\n") != 200 || strings.Count(got.stdout, `"event":"trade"`) < 10 {
		t.Errorf("%.2000v", got)
	}
	got = runNova(t, "", "sub", "portfolio", "--url", url, "--count", "1", "--json")
	if got.code != 0 || !strings.Contains(got.stdout, `"accountId":"DEMO-1"`) {
		t.Error(got)
	}
	if got := runNova(t, "", "clients", "--url", url); got.code != 0 || !strings.HasSuffix(got.stdout, " connected\n") {
		t.Error(got)
	}
	fails(t, 1, []string{"disconnect", "nobody", "--url", url}, `there is no client "nobody"`)
	if code := demo.end(t); code != 0 || demo.stderr.String() != "" {
		t.Errorf("exit %d, stderr %q", code, demo.stderr)
	}
}

func TestDemoChat(t *testing.T) {
	_, url := startDemo(t, "--rate", "0")
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	conn, err := client.Dial(ctx, url+"/ws", client.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	room, err := conn.Subscribe(ctx, "lobby")
	if err != nil {
		t.Fatal(err)
	}
	if err := market.ChatEvent.Send(ctx, conn, &market.Chat{Room: "lobby", Text: "héllo", Ts: 7}); err != nil {
		t.Fatal(err)
	}
	for m, err := range market.ChatEvent.All(ctx, room) {
		if err != nil || *m != (market.Chat{Room: "lobby", Text: "héllo", Ts: 7}) {
			t.Errorf("received %+v, %v", m, err)
		}
		break
	}
}

// The week of earthquakes comes out as it went in, by the feed of the demo and
// by nova pub.
func TestDemoEarthquakes(t *testing.T) {
	schema, feed := seismic("schema.json"), seismic("earthquakes.ndjson")
	demo, url := startDemo(t, "--schema", schema, "--feed", feed, "--speed", "0")
	if code, body := fetch(t, url+"/"); code != 200 || !strings.Contains(body, "generic.js") || !strings.Contains(body, `content="earthquake"`) {
		t.Errorf("page: %d %.800s", code, body)
	}
	demo.line(t, "1,707 events of "+feed+" published")
	compareWeek(t, feed, runNova(t, "", "sub", "--schema", schema, "--url", url, "--topic", "earthquake", "--count", "1707", "--json"))

	sub := start(t, "sub", "--schema", schema, "--url", url, "--topic", "again", "--count", "1707", "--json")
	got := runNova(t, "", "pub", "earthquake", "--schema", schema, "--from", feed, "--topic", "again", "--url", url)
	if got.code != 0 || !strings.HasPrefix(got.stdout, "published 1,707 earthquake to topic again in ") {
		t.Fatal(got)
	}
	var out strings.Builder
	for sub.stdout.Scan() {
		out.WriteString(sub.stdout.Text() + "\n")
	}
	code := <-sub.code
	sub.code <- code
	compareWeek(t, feed, outcome{code, out.String(), sub.stderr.String()})
}

// compareWeek compares the data of what was received with the lines of a file,
// field by field.
func compareWeek(t *testing.T, feed string, got outcome) {
	t.Helper()
	file, err := os.ReadFile(feed)
	if err != nil {
		t.Fatal(err)
	}
	in, out := bytes.Split(bytes.TrimSpace(file), []byte("\n")), strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != 0 || got.stderr != "" || len(in) != 1707 || len(out) != len(in) {
		t.Fatalf("exit %d, stderr %q, %d lines in, %d out", got.code, got.stderr, len(in), len(out))
	}
	decode := func(text []byte, v any) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for i := range in {
		var want map[string]any
		var have struct {
			Event string
			Data  map[string]any
		}
		decode(in[i], &want)
		decode([]byte(out[i]), &have)
		if have.Event != "earthquake" || len(have.Data) != len(want) {
			t.Fatalf("line %d: %s became %s", i+1, in[i], out[i])
		}
		for name, value := range want {
			if !reflect.DeepEqual(value, have.Data[name]) {
				t.Errorf("line %d: %s: %v became %v", i+1, name, value, have.Data[name])
			}
		}
	}
}

// A file can feed the market page too, again and again; a feed that cannot be
// published ends the command.
func TestDemoFeed(t *testing.T) {
	feed := write(t, "quotes.ndjson", `{"symbol":"A","bid":1,"ask":2,"bidSize":3,"askSize":4,"ts":5}`+"\n")
	demo, url := startDemo(t, "--feed", feed, "--event", "quote", "--loop")
	demo.line(t, "1 event of "+feed+" published")
	demo.line(t, "1 event of "+feed+" published")
	if code, body := fetch(t, url+"/"); code != 200 || !strings.Contains(body, "app.js") {
		t.Errorf("page: %d %.100s", code, body)
	}
	got := runNova(t, "", "sub", "--topic", "equities", "--url", url, "--count", "2", "--json")
	if got.code != 0 || strings.Count(got.stdout, `"bidSize":3`) != 2 {
		t.Error(got)
	}
	got = runNova(t, "", "demo", "--addr", "127.0.0.1:0", "--feed", feed, "--event", "quote", "--topic", strings.Repeat("t", 300))
	if got.code != 1 || !strings.HasPrefix(got.stderr, "nova demo: "+feed+":1: ") || strings.Count(got.stderr, "\n") != 1 {
		t.Error(got)
	}
}

func TestDemoErrors(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	_, url := startDemo(t, "--schema", schema)
	taken := strings.TrimPrefix(url, "http://")
	fails(t, 1, []string{"demo", "--addr", taken}, "nova demo: address "+taken+" is in use", "choose another with --addr 127.0.0.1:3001")
	fails(t, 2, []string{"demo", "--addr", "3000"}, `--addr "3000" is no address; write host:port or :port, such as :3000`)
	fails(t, 2, []string{"demo", "--addr", ":99999"}, `--addr ":99999" has no port of TCP; write one up to 65535, such as :3000`)
	fails(t, 1, []string{"demo", "--schema", schema, "--feed", t.TempDir(), "--event", "tick"}, " is a directory; name a file with --feed")
	fails(t, 1, []string{"pub", "tick", "--from", t.TempDir(), "--url", url}, " is a directory; name a file with --from")
	fails(t, 1, []string{"call", "x", "--timeout", "1ns", "--url", url}, "x: no response within 1ns; --timeout gives it more")
	fails(t, 1, []string{"demo", "--addr", "127.0.0.1:http0"}, "cannot listen on 127.0.0.1:http0")
	fails(t, 2, []string{"demo", "--rate", "-1"}, "--rate -1 is out of range")
	fails(t, 2, []string{"demo", "--rate", "NaN"}, "--rate NaN is out of range")
	fails(t, 2, []string{"demo", "--speed", "-1"}, "--speed -1 is out of range")
	fails(t, 2, []string{"demo", "--schema", schema, "--feed", "synthetic"}, "the synthetic feed is the market's")
	fails(t, 2, []string{"demo", "--event", "quote"}, "give the file with --feed FILE")
	fails(t, 2, []string{"demo", "--schema", schema, "--feed", "x.ndjson"}, "write --event with one of tick, tock")
	fails(t, 1, []string{"demo", "--schema", schema, "--feed", "x.ndjson", "--event", "tik"}, `unknown event "tik"; did you mean "tick"?`)
	fails(t, 1, []string{"demo", "--schema", schema, "--feed", "x.ndjson", "--event", "tick"}, "cannot read x.ndjson (no such file or directory)")
	fails(t, 1, []string{"demo", "--schema", "x.json"}, "schema file x.json does not exist")
	bad := write(t, "bad.ndjson", "{\"name\":\"a\",\"n\":1}\n\n{\"name\":\"a\",\"n\":\"b\"}\n")
	fails(t, 1, []string{"demo", "--schema", schema, "--feed", bad, "--event", "tick"}, bad+`:3: /n: found the string "b"; write a whole number`)
	got := runNova(t, "", "demo", "--schema", write(t, "bad.json", strings.Replace(tinySchema, `"number"`, `"numbr"`, 1)))
	if got.code != 1 || !strings.Contains(got.stderr, "bad.json:7:") {
		t.Error(got)
	}
}

func TestMarketWalk(t *testing.T) {
	a, b, other := newMarketWalk(7), newMarketWalk(7), newMarketWalk(8)
	quotes, same := 0, 0
	for ts := range int64(20_000) {
		q, trade := a.next(ts)
		q2, trade2 := b.next(ts)
		if !reflect.DeepEqual(q, q2) || !reflect.DeepEqual(trade, trade2) {
			t.Fatalf("event %d differs for one seed", ts)
		}
		q3, _ := other.next(ts)
		if q == nil {
			if trade.Price <= 0 || trade.Volume < 1 || !trade.Side.Valid() || trade.Ts != ts {
				t.Fatalf("trade %+v", trade)
			}
			continue
		}
		if quotes++; q3 != nil && *q3 == *q {
			same++
		}
		if q.Bid <= 0 || q.Ask <= q.Bid || q.Ask > q.Bid*1.01 || q.BidSize < 100 || q.Ts != ts {
			t.Fatalf("quote %+v", q)
		}
	}
	if quotes < 14_000 || quotes > 16_000 || same > 10 {
		t.Errorf("%d quotes of 20,000, %d equal with another seed", quotes, same)
	}
	p := a.portfolio(1)
	total := p.Cash
	for _, pos := range p.Positions {
		total += pos.AvgPrice*float64(pos.Quantity) + pos.Pnl
	}
	if d := total - p.TotalValue; len(p.Positions) < 5 || d > 0.1 || d < -0.1 {
		t.Errorf("portfolio %+v adds up to %f", p, total)
	}
}

func TestFeedClock(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(c *feedClock, n int, text string) time.Duration { return c.due(n, []byte(text)).Sub(start) }
	byTime := &feedClock{field: "ts", speed: 10, started: start}
	for text, want := range map[string]time.Duration{`{"ts":5000}`: 0} {
		if got := at(byTime, 0, text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := at(byTime, 1, `{"ts":15000}`); got != time.Second {
		t.Errorf("10 s at speed 10: %v", got)
	}
	if got := at(byTime, 2, `{"ts":1000}`); got != 0 {
		t.Errorf("before the first: %v", got)
	}
	if got := at(&feedClock{field: "ts", started: start}, 1, `{"ts":15000}`); got != 0 {
		t.Errorf("speed 0: %v", got)
	}
	if got := at(&feedClock{rate: 4, started: start}, 2, `{}`); got != 500*time.Millisecond {
		t.Errorf("rate 4: %v", got)
	}
}

func TestPace(t *testing.T) {
	p := newPace(1000)
	sent, now := 0, p.last
	for range 1000 {
		now = now.Add(5 * time.Millisecond)
		sent += p.due(now)
	}
	if sent < 4999 || sent > 5000 {
		t.Errorf("%d events in 5 s at 1,000 a second", sent)
	}
	if n := p.due(now.Add(time.Hour)); n > 1001 {
		t.Errorf("%d events at once after a pause", n)
	}
}
