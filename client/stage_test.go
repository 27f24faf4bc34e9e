package client_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

func (s *stage) accept() {
	if !s.started {
		s.started = true
		go s.conn.Connect(s.t.Context())
	}
	synctest.Wait()
	select {
	case s.peer = <-s.fake.peers:
		s.dialled++
	default:
		s.t.Fatal("the client does not connect")
	}
}

func (s *stage) base() {
	s.accept()
	s.peer.welcome()
	s.log.take()
	s.drain()
}

// session lets the client in, with these capabilities besides.
func (s *stage) session(st step) {
	caps := []string{"session/1", "topics/1"}
	if string(st.fields["session"]) != "true" {
		caps = append(caps, field[[]string](st, "session")...)
	}
	s.accept()
	s.peer.welcome(caps...)
	s.send("nova.session", nil, step{})
	s.log.take()
	s.drain()
}

func (s *stage) drain() {
	for s.next("") != nil {
	}
}

// send sends an event that has defaults, numbered and with a trailer on demand.
func (s *stage) send(name string, value map[string]any, st step) {
	s.t.Helper()
	whole := maps.Clone(s.defaults[name])
	maps.Copy(whole, value)
	text, err := json.Marshal(whole)
	if err != nil {
		s.t.Fatal(err)
	}
	layout := control.Layout
	if name == "quote" {
		layout = market.Schema.Layout()
	}
	event, err := layout.FindEvent(name)
	if err != nil {
		s.t.Fatal(err)
	}
	frame, err := layout.AppendFrameJSON(nil, event, text)
	if err != nil {
		s.t.Fatal(err)
	}
	if st.has("seq") {
		wire.Stamp(frame, st.number("seq"))
	}
	if at := field[[]any](st, "topic"); at != nil {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", at[1], at[0]))
		frame = trailed(frame, binary.LittleEndian.Uint64(sum[:]), parse(s.t, fmt.Sprint(at[2])))
	}
	s.deliver(frame)
}

// deliver sends a frame, or has it go with others.
func (s *stage) deliver(frame []byte) {
	if s.joined != nil {
		*s.joined = append(*s.joined, frame...)
		return
	}
	s.peer.send(frame)
}

// next returns the client's next frame, nil when there is none. Pings and
// acknowledgements count only for who wants them; who wants another frame passes
// over those that open a connection.
func (s *stage) next(wanted string) []byte {
	for {
		synctest.Wait()
		select {
		case frame := <-s.peer.raw:
			id := binary.LittleEndian.Uint32(frame[1:])
			if id == control.PingID && wanted != "ping" || id == control.AckID && wanted != "nova.ack" {
				continue
			}
			opening := id == control.HelloID && wanted != "hello" || id == control.AttachID && wanted != "nova.attach"
			if opening && wanted != "" {
				continue
			}
			return frame
		default:
			return nil
		}
	}
}

func (s *stage) expect(name string, value map[string]any, st step) {
	s.t.Helper()
	frame := s.next(name)
	for end := time.Now().Add(time.Duration(field[int](st, "within")) * time.Millisecond); frame == nil && time.Now().Before(end); frame = s.next(name) {
		time.Sleep(50 * time.Millisecond)
	}
	if frame == nil {
		s.t.Errorf("the client sent nothing, want %s", name)
		return
	}
	layout := control.Layout
	if name == "quote" {
		layout = market.Schema.Layout()
	}
	event, text, err := layout.FrameJSON(nil, frame)
	if err != nil || event.Name != name {
		s.t.Errorf("the client sent %s (%v), want %s", describe(frame), err, name)
		return
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		s.t.Fatal(err)
	}
	if value["symbol"] != nil {
		got["symbol"] = s.symbol(frame)
	}
	for key, want := range value {
		if list, ok := got[key].([]any); ok && key == "caps" {
			for _, each := range want.([]any) {
				if !slices.Contains(list, each) {
					s.t.Errorf("%s: caps are %v, want %v among them", name, list, each)
				}
			}
		} else if !reflect.DeepEqual(got[key], want) {
			s.t.Errorf("%s: %s is %v, want %v", name, key, got[key], want)
		}
	}
	if h, _, _ := wire.ParseFrame(frame); st.has("seq") && h.Seq != st.number("seq") {
		s.t.Errorf("%s has number %d, want %d", name, h.Seq, st.number("seq"))
	}
}

// end closes from the server's side; 1006 is a connection that is cut.
func (s *stage) end(code int, reason string) {
	synctest.Wait()
	if code == 1006 {
		s.peer.conn.Close()
	} else {
		s.peer.close(code, reason)
	}
	synctest.Wait()
}

func (s *stage) closed(code int) {
	synctest.Wait()
	for got := range s.peer.frames {
		if !strings.HasPrefix(got, "close") {
			continue
		}
		if !strings.HasPrefix(got, fmt.Sprint("close ", code)) {
			s.t.Errorf("the client closed with %q, want %d", got, code)
		}
		s.peer.write(ws.AppendClose(nil, code, ""))
		break
	}
	s.peer.conn.Close()
	synctest.Wait()
}

// redial expects the next attempt within that many milliseconds, not before and
// not after.
func (s *stage) redial(from, to int) {
	if from > 0 {
		time.Sleep(time.Duration(from)*time.Millisecond - time.Nanosecond)
		synctest.Wait()
		if n := len(s.fake.dialled()); n != s.dialled {
			s.t.Errorf("the client connects before %d ms", from)
		}
		time.Sleep(time.Nanosecond)
	}
	synctest.Wait()
	// An attempt that nobody answers is given up and followed by another one.
	for end := time.Now().Add(time.Duration(to-from) * time.Millisecond); len(s.fake.dialled()) == s.dialled; synctest.Wait() {
		left := time.Until(end)
		if left <= 0 {
			s.t.Errorf("the client does not connect within %d ms", to)
			return
		}
		time.Sleep(min(left, 50*time.Millisecond))
	}
}

func (s *stage) stays() {
	s.fake.set("", true)
	defer s.fake.set("", false)
	time.Sleep(time.Hour)
	synctest.Wait()
	if n := len(s.fake.dialled()); n != s.dialled {
		s.t.Error("the client connects again")
	}
}

func (s *stage) sees(want []string, anyOrder bool) {
	s.t.Helper()
	got := strings.Split(s.log.take(), ", ")
	if got[0] == "" {
		got = nil
	}
	if anyOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("the client saw %q, want %q", got, want)
	}
}

func (s *stage) at(want []any) {
	synctest.Wait()
	sub := s.subs[want[0].(string)]
	p := sub.Position()
	if p.Epoch != want[1] || float64(p.Offset) != want[2] || sub.Recovered() != want[3] {
		s.t.Errorf("%s is at %+v, recovered %v, want %v", sub.Topic(), p, sub.Recovered(), want)
	}
}

func (s *stage) do(call []any) {
	ctx := s.t.Context()
	name := ""
	if len(call) > 1 {
		name = fmt.Sprint(call[1])
	}
	var err error
	switch call[0] {
	case "subscribe":
		var options []client.SubscribeOption
		if len(call) > 2 {
			options = append(options, client.FromNow())
		}
		s.subs[name], err = s.conn.Subscribe(ctx, name, options...)
	case "unsubscribe":
		err = s.subs[name].Close()
	case "joinGroup":
		err = s.conn.JoinGroup(ctx, name)
	case "send":
		err = market.QuoteEvent.Send(ctx, s.conn, &market.Quote{Ts: int64(call[1].(float64))})
	case "pause":
		go s.conn.Pause(ctx)
	case "resume":
		go s.conn.Connect(ctx)
	case "close":
		go s.conn.Close(ctx)
	default:
		err = s.doMore(call)
	}
	if err != nil {
		s.t.Fatalf("%v: %v", call, err)
	}
	synctest.Wait()
}
