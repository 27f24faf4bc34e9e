package client_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/realserver"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
)

// livePatience bounds what a step waits for.
const livePatience = 20 * time.Second

// liveScenario is one of conformance/live.json.
type liveScenario struct {
	Name            string
	Server          []string
	Tokens          []string
	InBand          bool
	Renew, Batching bool // this client does both by itself
	Steps           []liveStep
}

type liveStep struct {
	Call, Begin, Server, Has, Starts, Reach, Subscribe string
	Ended                                              string
	Is                                                 *string
	DeadlineMs                                         int
	Cancel, Cut, Answers, Aborted                      bool
	States, Errors                                     []string
	Recovered                                          []bool
	Seen, Receives                                     *[2]int64
	Tokens, FewerMessages                              int
	Send                                               []any
	Handled                                            [][]any
}

// What both clients do against the real server over real sockets, step by step
// (conformance/README.md).
func TestConformanceLive(t *testing.T) {
	var list []liveScenario
	readJSON(t, "../conformance/live.json", &list)
	for _, sc := range list {
		t.Run(sc.Name, func(t *testing.T) {
			s := newLive(t, sc)
			for i, st := range sc.Steps {
				if s.step(st); t.Failed() {
					t.Fatalf("at step %d", i+1)
				}
			}
			if got := s.take(&s.errors); len(got) > 0 {
				t.Errorf("errors %q", got)
			}
		})
	}
}

// live is one client and its server.
type live struct {
	t      *testing.T
	server *realserver.Server
	conn   *client.Conn

	begun   chan string // the outcome of the call that was begun
	giveUp  context.CancelFunc
	aborted chan struct{} // a handler of the client's was given up

	mu        sync.Mutex
	changed   *sync.Cond
	states    []string
	errors    []string
	recovered []bool
	chats     []int64
	tokens    int
	sockets   []*countedConn
}

func newLive(t *testing.T, sc liveScenario) *live {
	server, err := realserver.Start(sc.Server, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	s := &live{t: t, server: server, aborted: make(chan struct{}, 1)}
	s.changed = sync.NewCond(&s.mu)
	o := client.Options{
		Schema:      market.Schema,
		Reconnect:   client.Reconnect{Initial: time.Millisecond, Max: 20 * time.Millisecond},
		TokenInBand: sc.InBand,
		NetDial:     s.dial,
		OnStatus:    func(st client.Status) { s.note(func() { s.states = append(s.states, st.State.String()) }) },
		OnRecovered: func(ok bool) { s.note(func() { s.recovered = append(s.recovered, ok) }) },
		OnError: func(err error) {
			if err != s.conn.Status().Err { // how a connection ended is told by its status
				s.note(func() { s.errors = append(s.errors, nova.CodeOf(err).String()) })
			}
		},
	}
	if len(sc.Tokens) > 0 {
		o.Token = func(context.Context) (token string, err error) {
			s.note(func() {
				token = sc.Tokens[min(s.tokens, len(sc.Tokens)-1)]
				s.tokens++
			})
			return token, nil
		}
	}
	if s.conn, err = client.New(server.URL, o); err != nil {
		t.Fatal(err)
	}
	market.ChatEvent.Listen(s.conn, func(_ context.Context, m *market.Chat) error {
		s.note(func() { s.chats = append(s.chats, m.Ts) })
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	var connecting sync.WaitGroup
	connecting.Go(func() { s.conn.Connect(ctx) }) // its outcome is told by the status
	t.Cleanup(func() {
		cancel()
		if err := s.conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
		connecting.Wait()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// countedConn counts the messages that come.
type countedConn struct {
	net.Conn
	parser   ws.Parser
	head     string // the server's HTTP answer
	messages atomic.Int64
}

func (c *countedConn) Message(ws.Opcode, []byte) error { c.messages.Add(1); return nil }
func (c *countedConn) Control(ws.Opcode, []byte) error { return nil }

// Read implements net.Conn.
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	rest := b[:n]
	if !strings.HasSuffix(c.head, httpEnd) {
		before := len(c.head)
		head, _, done := strings.Cut(c.head+string(rest), httpEnd)
		if c.head = head; !done {
			return n, err
		}
		c.head += httpEnd
		rest = rest[len(c.head)-before:]
	}
	if bad := c.parser.Feed(slices.Clone(rest), c); bad != nil {
		return n, bad
	}
	return n, err
}

const httpEnd = "\r\n\r\n"

func (s *live) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &countedConn{Conn: conn, parser: ws.NewParser(false, 0)}
	s.note(func() { s.sockets = append(s.sockets, c) })
	return c, nil
}

func (s *live) note(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
	s.changed.Broadcast()
}

func (s *live) take(list *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := *list
	*list = nil
	return got
}

// until waits until what is noted is so.
func (s *live) until(what string, so func() bool) {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(livePatience, func() { s.note(func() { late = true }) })
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !so() {
		if late {
			s.t.Fatalf("%s: not within %v; states %q, errors %q, %d tokens, %d chats", what, livePatience, s.states, s.errors, s.tokens, len(s.chats))
		}
		s.changed.Wait()
	}
}

func (s *live) step(st liveStep) {
	s.t.Helper()
	switch {
	case st.Call != "":
		s.is("the call", s.call(s.t.Context(), st.Call, st.DeadlineMs), *st.Is)
	case st.Begin != "":
		ctx, cancel := context.WithCancel(s.t.Context())
		s.begun, s.giveUp = make(chan string, 1), cancel
		go func(begun chan<- string) { begun <- s.call(ctx, st.Begin, 0) }(s.begun)
	case st.Cancel:
		s.giveUp()
	case st.Ended != "":
		s.is("the call", <-s.begun, st.Ended)
		s.giveUp()
	case st.Server != "":
		s.ask(st)
	case st.Cut:
		s.cut()
	case st.Reach != "":
		s.until(st.Reach, func() bool { return len(s.states) > 0 && s.states[len(s.states)-1] == st.Reach })
	case st.States != nil:
		s.is("states", s.take(&s.states), st.States)
	case st.Errors != nil:
		s.is("errors", s.take(&s.errors), st.Errors)
	case st.Recovered != nil:
		s.until("recovered", func() bool { return slices.Equal(s.recovered, st.Recovered) })
	case st.Tokens > 0:
		s.until(fmt.Sprint(st.Tokens, " tokens"), func() bool { return s.tokens >= st.Tokens })
	case st.Answers:
		s.answer()
	case st.Aborted:
		<-s.aborted
	default:
		s.events(st)
	}
}

func (s *live) is(what string, got, want any) {
	s.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// call makes a call and returns the symbol of the answer, or the error's code.
func (s *live) call(ctx context.Context, symbol string, deadlineMs int) string {
	if deadlineMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(deadlineMs)*time.Millisecond)
		defer cancel()
	}
	q, err := market.GetQuoteCall.Do(ctx, s.conn, &market.GetQuoteRequest{Symbol: symbol})
	if err != nil {
		return nova.CodeOf(err).String()
	}
	return q.Symbol
}

func (s *live) answer() {
	_, err := market.GetQuoteCall.On(s.conn, func(ctx context.Context, in *market.GetQuoteRequest) (*market.Quote, error) {
		if in.Symbol == "hurry" {
			<-ctx.Done()
			s.aborted <- struct{}{}
			return nil, ctx.Err()
		}
		return &market.Quote{Symbol: in.Symbol + "!"}, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// ask has the server obey, until the answer has what is wanted or, when all of it is
// known, once.
func (s *live) ask(st liveStep) {
	s.t.Helper()
	for begin := time.Now(); ; {
		got := s.server.Obey(st.Server)
		switch {
		case st.Has != "" && !strings.Contains(got, st.Has) && time.Since(begin) < livePatience:
			continue
		case st.Has != "" && !strings.Contains(got, st.Has), st.Is != nil && got != *st.Is, !strings.HasPrefix(got, st.Starts):
			s.t.Errorf("%s: %q, want %+v", st.Server, got, st)
		}
		return
	}
}

// cut breaks the connection without a word.
func (s *live) cut() {
	s.mu.Lock()
	before := len(s.states)
	socket := s.sockets[len(s.sockets)-1]
	s.mu.Unlock()
	socket.Conn.Close()
	s.until("reconnecting", func() bool { return slices.Contains(s.states[before:], "reconnecting") })
}

// events does the steps about events.
func (s *live) events(st liveStep) {
	s.t.Helper()
	switch {
	case st.Subscribe != "":
		if _, err := s.conn.Subscribe(s.t.Context(), st.Subscribe); err != nil {
			s.t.Fatal(err)
		}
	case st.Seen != nil:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.run(*st.Seen)
	case st.Receives != nil:
		s.until(fmt.Sprint("chats ", *st.Receives), func() bool { return len(s.chats) > 0 && s.chats[len(s.chats)-1] >= st.Receives[1] })
		s.mu.Lock()
		defer s.mu.Unlock()
		s.run(*st.Receives)
	case st.FewerMessages > 0:
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := s.sockets[len(s.sockets)-1].messages.Load(); n >= int64(st.FewerMessages) {
			s.t.Errorf("%d messages, want fewer than %d", n, st.FewerMessages)
		}
	case st.Send != nil:
		for _, text := range texts(st.Send) {
			if err := market.ChatEvent.Send(s.t.Context(), s.conn, &market.Chat{Text: text}); err != nil {
				s.t.Fatal(err)
			}
		}
	case st.Handled != nil:
		var want []string
		for _, list := range st.Handled {
			want = append(want, texts(list)...)
		}
		s.ask(liveStep{Server: "handled", Has: want[len(want)-1]})
		s.is("handled", s.server.Obey("handled"), strings.Join(want, ","))
	default:
		s.t.Fatalf("unknown step %+v", st)
	}
}

// run checks that the chats since the last look are these, in order. The caller holds mu.
func (s *live) run(of [2]int64) {
	s.t.Helper()
	var want []int64
	for ts := of[0]; ts <= of[1]; ts++ {
		want = append(want, ts)
	}
	if !slices.Equal(s.chats, want) {
		s.t.Errorf("%d chats %v, want %d to %d", len(s.chats), s.chats, of[0], of[1])
	}
	s.chats = nil
}

// texts are name0, name1 and so on.
func texts(of []any) (all []string) {
	for i := range int(of[1].(float64)) {
		all = append(all, fmt.Sprint(of[0], i))
	}
	return all
}
