package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/leak"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

const patience = 20 * time.Second

func newHub(t testing.TB, o hub.Options) *hub.Hub {
	t.Helper()
	if o.Schema == nil {
		o.Schema = market.Schema
	}
	h, err := hub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

// fakePeer is a socket that takes everything at once and keeps the frames.
type fakePeer struct {
	session *hub.Session
	cursor  session.Cursor
	caps    hub.Caps

	mu     sync.Mutex
	frames []frame
	closed []int
	news   chan struct{}
}

type frame struct {
	wire.Header
	payload []byte
}

// inbound has a client send one event.
func inbound(h *hub.Hub, p *fakePeer, id uint32, payload []byte) {
	b := h.Burst()
	b.Add(wire.Header{ID: id}, payload)
	p.session.Inbound(&p.cursor, b)
}

func connect(t testing.TB, h *hub.Hub, identity hub.Identity) *fakePeer {
	t.Helper()
	s, err := h.Open(context.Background(), identity, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &fakePeer{session: s, news: make(chan struct{}, 1)}
	s.Attach(p, &p.cursor)
	if _, err := s.Admit(&p.cursor, 0); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *fakePeer) Caps() hub.Caps { return p.caps }
func (p *fakePeer) Near()          {}

func (*fakePeer) FlushAll(peers []hub.Peer) { hub.FlushEach(peers) }

func (p *fakePeer) Close(code int, _ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = append(p.closed, code)
}

func (p *fakePeer) Flush() {
	buf := make([]byte, 0, 2<<10)
	for b := p.session.Begin(&p.cursor, buf); b != nil; b = p.session.Next(&p.cursor, len(b), len(b), buf) {
		parser := ws.NewParser(false, 0)
		if err := parser.Feed(b, p); err != nil {
			panic(err)
		}
	}
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *fakePeer) Control(ws.Opcode, []byte) error { return nil }

func (p *fakePeer) Message(_ ws.Opcode, data []byte) error {
	head, payload, err := wire.ParseFrame(slices.Clone(data))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, frame{head, payload})
	return err
}

// quotes waits for n frames and returns the numbers of their quotes.
func (p *fakePeer) quotes(t testing.TB, n int) []int64 {
	t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		if len(p.frames) >= n {
			defer p.mu.Unlock()
			list := []int64{}
			for i, f := range p.frames {
				q := new(market.Quote)
				if err := q.UnmarshalNova(f.payload); err != nil || f.Seq != uint64(i+1) {
					t.Fatalf("frame %d: number %d, %v", i, f.Seq, err)
				}
				list = append(list, q.Ts)
			}
			return list
		}
		p.mu.Unlock()
		select {
		case <-p.news:
		case <-deadline:
			t.Fatalf("%d frames of %d came", len(p.frames), n)
		}
	}
}

func publish(t testing.TB, h *hub.Hub, to nova.Target, n int) nova.Result {
	t.Helper()
	var result nova.Result
	q := &market.Quote{Symbol: fmt.Sprint("S", n%3), Ts: int64(n)}
	if err := market.QuoteEvent.Publish(context.Background(), h, to, q, nova.Report(&result)); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]hub.Options{
		"Options.Schema is missing":         {},
		`Inbound names "nothing"`:           {Schema: market.Schema, Inbound: []string{"nothing"}},
		"Options.Shards is -1":              {Schema: market.Schema, Shards: -1},
		"Options.Backpressure.Policy 7":     {Schema: market.Schema, Backpressure: hub.Backpressure{Policy: 7}},
		"Options.Int64Guard 9":              {Schema: market.Schema, Int64Guard: 9},
		"Options.Session.TotalBytes is -5;": {Schema: market.Schema, Session: hub.SessionOptions{TotalBytes: -5}},
	} {
		if _, err := hub.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestBadPublishes(t *testing.T) {
	h := newHub(t, hub.Options{Int64Guard: hub.GuardRefuse})
	good, err := market.QuoteEvent.AppendFrame(nil, &market.Quote{})
	if err != nil {
		t.Fatal(err)
	}
	other := *market.QuoteEvent.Info()
	other.Name = "else"
	numbered := slices.Clone(good)
	wire.Stamp(numbered, 3)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		p    nova.Publication
		code nova.Code
	}{
		"no event":      {t.Context(), nova.Publication{Frame: good}, nova.Invalid},
		"other schema":  {t.Context(), nova.Publication{Event: &other, Frame: good}, nova.Invalid},
		"other frame":   {t.Context(), nova.Publication{Event: market.TradeEvent.Info(), Frame: good}, nova.Invalid},
		"numbered":      {t.Context(), nova.Publication{Event: market.QuoteEvent.Info(), Frame: numbered}, nova.Invalid},
		"short":         {t.Context(), nova.Publication{Event: market.QuoteEvent.Info(), Frame: good[:10]}, nova.Invalid},
		"no topic":      {t.Context(), nova.Publication{Event: market.QuoteEvent.Info(), Frame: good, Target: nova.Topic("")}, nova.Invalid},
		"long topic":    {t.Context(), nova.Publication{Event: market.QuoteEvent.Info(), Frame: good, Target: nova.Topics("a", strings.Repeat("x", 256))}, nova.Invalid},
		"unknown kind":  {t.Context(), nova.Publication{Event: market.QuoteEvent.Info(), Frame: good, Target: nova.Target{Kind: 99}}, nova.Invalid},
		"unsafe":        {t.Context(), nova.Publication{Event: market.QuoteEvent.Info(), Frame: good, Unsafe: &wire.Int64Error{Path: "ts", Value: 1 << 60}}, nova.Invalid},
		"ended context": {ended, nova.Publication{Event: market.QuoteEvent.Info(), Frame: good}, nova.Cancelled},
	} {
		if _, err := h.PublishFrame(c.ctx, c.p); nova.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want code %v", name, err, c.code)
		}
	}
}

func TestClosedHub(t *testing.T) {
	h := newHub(t, hub.Options{})
	p := connect(t, h, hub.Identity{ClientID: "a"})
	publish(t, h, nova.Broadcast(), 1)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := market.QuoteEvent.Publish(t.Context(), h, nova.Broadcast(), &market.Quote{}); nova.CodeOf(err) != nova.FailedPrecondition {
		t.Errorf("publish: %v", err)
	}
	if _, err := h.Open(t.Context(), hub.Identity{}, 0); nova.CodeOf(err) != nova.FailedPrecondition {
		t.Errorf("open: %v", err)
	}
	if !slices.Equal(p.closed, []int{1012}) || h.Len() != 0 {
		t.Errorf("closed with %v, %d clients", p.closed, h.Len())
	}
	if err := p.session.Join(t.Context(), "t"); nova.CodeOf(err) != nova.NotFound {
		t.Errorf("join: %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func TestHandlers(t *testing.T) {
	h := newHub(t, hub.Options{AuthorizePublish: func(_ context.Context, c *nova.Client, e *wire.Event) error {
		if e.Name == "trade" {
			return errors.New("no trades")
		}
		return nil
	}})
	var mu sync.Mutex
	var log []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, s)
	}
	var off func()
	off = market.QuoteEvent.On(h, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		note(fmt.Sprint("once ", q.Ts))
		off()
		market.QuoteEvent.On(h, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
			note(fmt.Sprint("late ", q.Ts))
			return nil
		})
		panic("on purpose")
	})
	market.QuoteEvent.On(h, func(_ context.Context, from *nova.Client, q *market.Quote) error {
		note(fmt.Sprint(from.ID(), " ", q.Ts))
		return errors.New("on purpose")
	})
	market.TradeEvent.On(h, func(context.Context, *nova.Client, *market.Trade) error {
		note("trade")
		return nil
	})
	done := make(chan struct{})
	market.BigValEvent.On(h, func(context.Context, *nova.Client, *market.BigVal) error {
		close(done)
		return nil
	})
	p := connect(t, h, hub.Identity{ClientID: "c"})
	for n := int64(1); n <= 2; n++ {
		payload, _ := (&market.Quote{Ts: n}).AppendNova(nil)
		inbound(h, p, market.QuoteEvent.ID(), payload)
		clear(payload) // the hub has a copy
	}
	trade, _ := (&market.Trade{}).AppendNova(nil)
	inbound(h, p, market.TradeEvent.ID(), trade)
	inbound(h, p, market.PortfolioEvent.ID(), nil)
	last, _ := (&market.BigVal{}).AppendNova(nil)
	inbound(h, p, market.BigValEvent.ID(), last)
	<-done
	if want := "once 1, c 1, c 2, late 2"; strings.Join(log, ", ") != want {
		t.Errorf("%q, want %q", strings.Join(log, ", "), want)
	}
	m := h.Metrics()
	if m.HandlerErrors["quote"] != 3 || m.NotAllowed != 2 || m.Inbound["quote"] != 2 {
		t.Errorf("%+v", m)
	}
	if _, err := h.HandleFrame(&wire.Event{Name: "strange", ID: wire.EventID("strange")}, nil); err == nil {
		t.Error("an unknown event has a handler")
	}
	if err := h.AllowInbound("strange"); nova.CodeOf(err) != nova.Invalid {
		t.Errorf("allow: %v", err)
	}
}

func TestRetain(t *testing.T) {
	layout := &wire.Layout{
		Package: "p",
		Tables: []wire.Table{{Name: "V", Fields: []wire.Field{{Name: "symbol", JSON: "symbol", Kind: wire.String},
			{Name: "n", JSON: "n", Kind: wire.Int64}}}},
		Events: []wire.Event{
			{Name: "all", ID: wire.EventID("all")},
			{Name: "none", ID: wire.EventID("none"), Retain: wire.RetainNone},
			{Name: "latest", ID: wire.EventID("latest"), Retain: wire.RetainLatest, Key: "symbol"},
		},
	}
	schema, err := nova.SchemaOf(layout)
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(t, hub.Options{Schema: schema, History: hub.History{Size: 3}})
	send := func(event, symbol string, n int64) uint64 {
		e := layout.EventByName(event)
		b := wire.AppendHeader(nil, e.ID)
		b = appendValue(b, layout, symbol, n)
		result, err := h.PublishFrame(t.Context(), nova.Publication{Event: e, Target: nova.Topic("t"), Frame: b})
		if err != nil {
			t.Fatal(err)
		}
		return result.Offset
	}
	for i, c := range []struct {
		event, symbol string
		offset        uint64
	}{
		{"all", "x", 1}, {"latest", "A", 2}, {"none", "x", 0}, {"latest", "B", 3}, {"latest", "A", 4},
		{"all", "x", 5}, {"all", "x", 6}, {"all", "x", 7},
	} {
		if got := send(c.event, c.symbol, int64(i)); got != c.offset {
			t.Errorf("%d: offset %d, want %d", i, got, c.offset)
		}
	}
	p := connect(t, h, hub.Identity{})
	if err := p.session.Join(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	want := []string{"latest B", "latest A", "all x", "all x", "all x"}
	var got []string
	for deadline := time.After(patience); len(got) < len(want); {
		select {
		case <-p.news:
		case <-deadline:
			t.Fatalf("only %v", got)
		}
		p.mu.Lock()
		got = nil
		for _, f := range p.frames {
			var r wire.Reader
			root := r.Root(f.payload)
			got = append(got, layout.EventByID(f.ID).Name+" "+r.String(root, 0, "symbol"))
		}
		p.mu.Unlock()
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// appendValue encodes {symbol, n} as the generator would.
func appendValue(b []byte, layout *wire.Layout, symbol string, n int64) []byte {
	base := len(b)
	table := &layout.Tables[0]
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	template := string(table.VTable()) + string(make([]byte, table.Inline()))
	b, at := wire.AppendTable(b, base, base+4, template, len(table.VTable()), table.Align())
	b[at] = byte(len(table.VTable()))
	b[at+table.Fields[1].Offset()] = byte(n)
	b = wire.AppendString(b, base, at+table.Fields[0].Offset(), symbol)
	b, err := wire.Finish(b, base)
	if err != nil {
		panic(err)
	}
	return b
}

func TestTopicsAreForgotten(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	h := newHub(t, hub.Options{
		History: hub.History{MaxTopics: 100, Idle: time.Hour},
		Clock: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Millisecond)
			return now
		},
	})
	p := connect(t, h, hub.Identity{})
	if err := p.session.Join(t.Context(), "topic 0"); err != nil {
		t.Fatal(err)
	}
	for n := range 500 {
		publish(t, h, nova.Topic(fmt.Sprint("topic ", n)), n)
	}
	eventually(t, "the idlest are forgotten", func() bool { return h.Metrics().Topics <= 100 })
	if got := publish(t, h, nova.Topic("topic 0"), 500); got.Offset != 2 || got.Members != 1 {
		t.Errorf("the topic with a member: %+v", got)
	}
	if got := publish(t, h, nova.Topic("topic 1"), 501); got.Offset != 1 {
		t.Errorf("a forgotten topic starts anew: %+v", got)
	}
}

func TestEmptiedTopicsLeaveNothing(t *testing.T) {
	h := newHub(t, hub.Options{})
	peers := make([]*fakePeer, 100)
	for i := range peers {
		peers[i] = connect(t, h, hub.Identity{UserID: fmt.Sprint("u", i)})
		for n := range 100 {
			if err := peers[i].session.Join(t.Context(), fmt.Sprint("t", i, ".", n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := h.Metrics().Topics; n != 10_000 {
		t.Errorf("%d topics", n)
	}
	for _, p := range peers {
		p.session.End()
	}
	if m := h.Metrics(); m.Topics != 0 || m.HistoryBytes != 0 || m.Sessions != 0 {
		t.Errorf("%+v", m)
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// fakeCluster notes what goes to other nodes.
type fakeCluster struct{ published []string }

func (c *fakeCluster) Publish(_ context.Context, p nova.Publication) error {
	c.published = append(c.published, p.Event.Name+" to "+p.Target.Name)
	return nil
}

func (c *fakeCluster) Lookup(nova.TargetKind, string) []string { return nil }

func TestClusterGetsWhatIsPublished(t *testing.T) {
	h := newHub(t, hub.Options{})
	c := new(fakeCluster)
	h.SetCluster(c)
	publish(t, h, nova.Topic("t"), 1)
	h.SetCluster(nil)
	publish(t, h, nova.Topic("t"), 2)
	if !slices.Equal(c.published, []string{"quote to t"}) {
		t.Errorf("%v", c.published)
	}
}

type fakeTracer struct{ spans []string }

func (f *fakeTracer) Start(ctx context.Context, operation, event string) (context.Context, func(error)) {
	return ctx, func(err error) { f.spans = append(f.spans, fmt.Sprint(operation, " ", event, " ", err)) }
}
func (f *fakeTracer) Inject(context.Context) string                         { return "" }
func (f *fakeTracer) Extract(ctx context.Context, _ string) context.Context { return ctx }

func TestTracer(t *testing.T) {
	tracer := new(fakeTracer)
	h := newHub(t, hub.Options{Tracer: tracer})
	publish(t, h, nova.Broadcast(), 1)
	if !slices.Equal(tracer.spans, []string{"publish quote <nil>"}) {
		t.Errorf("%v", tracer.spans)
	}
}

// blockedPeer holds up the loop, as no real socket does, so that the inbox fills.
type blockedPeer struct {
	fakePeer
	entered, release chan struct{}
}

func (p *blockedPeer) Flush() {
	select {
	case p.entered <- struct{}{}:
	default:
	}
	<-p.release
}

func TestPublishersWaitForRoom(t *testing.T) {
	h := newHub(t, hub.Options{Shards: 1, Backpressure: hub.Backpressure{MaxBytes: 16 << 20}})
	p := &blockedPeer{entered: make(chan struct{}, 1), release: make(chan struct{})}
	s, err := h.Open(t.Context(), hub.Identity{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.session = s
	s.Attach(p, &p.cursor)
	if _, err := s.Admit(&p.cursor, 0); err != nil {
		t.Fatal(err)
	}
	publish(t, h, nova.Broadcast(), 0)
	<-p.entered
	big := &market.Quote{Symbol: strings.Repeat("x", 8<<20)}
	frame, err := market.QuoteEvent.AppendFrame(nil, big)
	if err != nil {
		t.Fatal(err)
	}
	publication := nova.Publication{Event: market.QuoteEvent.Info(), Frame: frame}
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = h.TryPublishFrame(t.Context(), publication)
	}
	if nova.CodeOf(err) != nova.Exhausted || n > 10 {
		t.Errorf("after %d publishes of 8 MiB: %v", n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := h.PublishFrame(ctx, publication); nova.CodeOf(err) != nova.DeadlineExceeded {
		t.Errorf("a bounded wait: %v", err)
	}
	close(p.release)
	if _, err := h.PublishFrame(t.Context(), publication); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	s.End()
}

func TestJoinsAndLeavesUnderLoad(t *testing.T) {
	h := newHub(t, hub.Options{Shards: 4, Backpressure: hub.Backpressure{MaxFrames: 1 << 20, MaxBytes: 1 << 30}})
	steady := connect(t, h, hub.Identity{})
	if err := steady.session.Join(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	const publishes = 3000
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				p := connect(t, h, hub.Identity{UserID: "u"})
				for range 20 {
					p.session.Join(context.Background(), "t")
					p.session.JoinGroup(context.Background(), "g")
					p.session.Leave("t")
				}
				p.session.End()
			}
		})
	}
	for n := 1; n <= publishes; n++ {
		publish(t, h, nova.Topic("t"), n)
		if n%100 == 0 {
			publish(t, h, nova.Group("g"), n)
			publish(t, h, nova.User("u"), n)
		}
	}
	got := steady.quotes(t, publishes)
	close(stop)
	wg.Wait()
	for i, ts := range got {
		if ts != int64(i+1) {
			t.Fatalf("frame %d is quote %d", i, ts)
		}
	}
	steady.session.End()
	if m := h.Metrics(); m.Sessions != 0 || m.Groups != 0 || m.Topics != 1 {
		t.Errorf("left over: %+v", m)
	}
}

func BenchmarkPublishNobody(b *testing.B) {
	h := newHub(b, hub.Options{History: hub.History{Size: -1}})
	q := &market.Quote{Symbol: "AAPL"}
	b.ReportAllocs()
	for b.Loop() {
		if err := market.QuoteEvent.Publish(b.Context(), h, nova.Broadcast(), q); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJoinLeave(b *testing.B) {
	h := newHub(b, hub.Options{})
	publish(b, h, nova.Topic("t"), 1)
	p := connect(b, h, hub.Identity{})
	b.ReportAllocs()
	for b.Loop() {
		if err := p.session.Join(b.Context(), "t"); err != nil {
			b.Fatal(err)
		}
		p.session.Leave("t")
	}
}
