package client_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
)

// The scenarios that the TypeScript client passes, too (conformance/README.md).

type scenario struct {
	Name            string
	Tokens          []string // that the token option gives, one after the other
	InBand          bool
	Renew, Batching bool // this client does both by itself
	Steps           []map[string]json.RawMessage
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestConformance(t *testing.T) {
	const dir = "../conformance/scenarios"
	var defaults map[string]map[string]any
	readJSON(t, dir+"/defaults.json", &defaults)
	files, err := filepath.Glob(dir + "/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		subject := strings.TrimSuffix(filepath.Base(file), ".json")
		if subject == "defaults" {
			continue
		}
		var list []scenario
		readJSON(t, file, &list)
		for _, sc := range list {
			t.Run(subject+"/"+sc.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { sc.stage(t, defaults).play(sc.Steps) })
			})
		}
	}
}

// Every row of the table of close codes (docs/protocol.md).
func TestConformanceCloseCodes(t *testing.T) {
	var rows []struct {
		Code         int
		Reason, Then string
	}
	readJSON(t, "../conformance/closecodes.json", &rows)
	for _, row := range rows {
		t.Run(fmt.Sprint(row.Code, " ", row.Reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tokens := 0
				s := newStage(t, nil, client.Options{Token: func(context.Context) (string, error) { tokens++; return strconv.Itoa(tokens), nil }})
				s.base()
				s.end(row.Code, row.Reason)
				switch row.Then {
				case "stop":
					s.stays()
					s.sees([]string{"closed"}, false)
				case "retry":
					s.redial(0, 250)
				case "slow":
					s.redial(15_000, 30_000)
				case "token":
					s.redial(0, 250)
					if tokens != 2 {
						t.Errorf("%d tokens were asked for, want 2", tokens)
					}
					s.accept()
					s.end(row.Code, row.Reason)
					s.stays()
					s.sees([]string{"reconnecting", "closed"}, false)
				default:
					t.Fatalf("no verdict %q", row.Then)
				}
				if row.Then != "token" && tokens != 1 {
					t.Errorf("%d tokens were asked for, want 1", tokens)
				}
			})
		})
	}
}

// stage plays the server's part of a scenario and watches the client.
type stage struct {
	t        *testing.T
	defaults map[string]map[string]any
	fake     *fake
	peer     *peer
	conn     *client.Conn
	started  bool
	dialled  int // attempts that were accepted
	log      record
	subs     map[string]*client.Subscription
	tokens   atomic.Int64 // that were asked for
	joined   *[]byte      // frames that go in one message, nil = each goes alone
	giveUp   cancels      // of calls under way
}

func newStage(t *testing.T, defaults map[string]map[string]any, o client.Options) *stage {
	s := &stage{t: t, defaults: defaults, fake: newFake(t), subs: map[string]*client.Subscription{}, giveUp: cancels{}}
	o.Schema = market.Schema
	o.OnStatus = func(st client.Status) { s.log.add("%v", st.State) }
	o.OnRecovered = func(ok bool) { s.log.add("recovered %v", ok) }
	o.OnGap = func(g client.Gap) { s.log.add("%s", gapText(g)) }
	o.OnError = func(err error) {
		if err != s.conn.Status().Err { // how a connection ended is told by its status
			s.log.add("error %v", nova.CodeOf(err))
		}
	}
	s.conn = s.fake.client(o)
	s.conn.ListenAny(func(_ context.Context, d nova.Delivery) error {
		text := "unknown"
		if d.Event != nil {
			var q market.Quote
			if err := q.UnmarshalNova(d.Payload); err != nil {
				return err
			}
			text = fmt.Sprint("quote ", q.Ts)
		}
		if d.Seq != 0 {
			text += fmt.Sprint(" #", d.Seq)
		}
		if d.Topic != "" {
			text += fmt.Sprintf(" %s@%d", d.Topic, d.Offset)
		}
		s.log.add("%s", text)
		return nil
	})
	t.Cleanup(func() {
		s.fake.set("", true)
		if s.peer != nil {
			s.peer.conn.Close()
		}
	})
	return s
}

func gapText(g client.Gap) string {
	text := "gap "
	if g.Topic != "" {
		text += g.Topic + " "
	}
	to := strconv.FormatUint(g.To, 10)
	if g.To == 0 {
		to = "?"
	}
	reasons := map[client.GapReason]string{client.GapPolicy: " policy", client.GapWithdrawn: " withdrawn", client.GapCluster: " cluster", client.GapLog: " log"}
	return fmt.Sprint(text, g.From, "-", to, reasons[g.Reason])
}

func (s *stage) play(steps []map[string]json.RawMessage) {
	for i, st := range steps {
		s.step(step{s.t, st})
		if s.t.Failed() {
			s.t.Fatalf("at step %d", i+1)
		}
	}
}

// step is one step of a scenario.
type step struct {
	t      *testing.T
	fields map[string]json.RawMessage
}

func (st step) has(name string) bool { _, ok := st.fields[name]; return ok }

func field[T any](st step, name string) (v T) {
	if text, ok := st.fields[name]; ok {
		if err := json.Unmarshal(text, &v); err != nil {
			st.t.Fatalf("%s: %v", name, err)
		}
	}
	return v
}

// number reads a u64, which stands in quotes when it is large.
func (st step) number(name string) uint64 {
	if !st.has(name) {
		return 0
	}
	return parse(st.t, strings.Trim(string(st.fields[name]), `"`))
}

func parse(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *stage) step(st step) {
	switch {
	case st.has("reply"), st.has("asks"), st.has("together"), st.has("tokens"), st.has("messages"):
		s.more(st)
	case st.has("accept"):
		s.accept()
		s.token(st)
	case st.has("base"):
		s.base()
	case st.has("session"):
		s.session(st)
	case st.has("send"):
		s.send(field[string](st, "send"), field[map[string]any](st, "value"), st)
	case st.has("quote"):
		s.send("quote", map[string]any{"ts": field[int](st, "quote")}, st)
	case st.has("quotes"):
		for n, to := field[[2]int](st, "quotes")[0], field[[2]int](st, "quotes")[1]; n <= to; n++ {
			seq := json.RawMessage(strconv.Itoa(n))
			s.send("quote", map[string]any{"ts": n}, step{s.t, map[string]json.RawMessage{"seq": seq}})
		}
	case st.has("bytes"):
		b, err := hex.DecodeString(field[string](st, "bytes"))
		if err != nil {
			s.t.Fatal(err)
		}
		s.deliver(b)
	case st.has("text"):
		s.peer.write(ws.AppendFrame(nil, ws.Text, []byte(field[string](st, "text"))))
	case st.has("expect"):
		s.expect(field[string](st, "expect"), field[map[string]any](st, "value"), st)
	case st.has("quiet"):
		if got := s.next(""); got != nil {
			s.t.Errorf("the client sent %s, want nothing", describe(got))
		}
	case st.has("close"):
		s.end(field[int](st, "close"), field[string](st, "reason"))
	case st.has("closed"):
		s.closed(field[int](st, "closed"))
	case st.has("wait"):
		time.Sleep(time.Duration(field[int](st, "wait")) * time.Millisecond)
		synctest.Wait()
	case st.has("redial"):
		w := field[[2]int](st, "redial")
		s.redial(w[0], w[1])
	case st.has("stays"):
		s.stays()
	case st.has("sees"):
		s.sees(field[[]string](st, "sees"), field[bool](st, "anyOrder"))
	case st.has("at"):
		s.at(field[[]any](st, "at"))
	case st.has("counted"):
		want := field[map[string]uint64](st, "counted")
		synctest.Wait()
		if got := s.conn.Stats(); got.Undecodable != want["undecodable"] || got.Unknown != want["unknown"] {
			s.t.Errorf("counted %+v, want %v", got, want)
		}
	case st.has("do"):
		s.do(field[[]any](st, "do"))
	default:
		s.t.Fatalf("unknown step %s", slices.Sorted(maps.Keys(st.fields)))
	}
}
