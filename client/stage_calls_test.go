package client_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// This file is what the stage has for calls, tokens and messages of several frames.

// cancels are how calls under way are given up, by symbol.
type cancels map[string]context.CancelFunc

// stage makes the stage of a scenario.
func (sc *scenario) stage(t *testing.T, defaults map[string]map[string]any) *stage {
	var s *stage
	o := client.Options{TokenInBand: sc.InBand}
	if len(sc.Tokens) > 0 {
		o.Token = func(context.Context) (string, error) {
			return sc.Tokens[min(int(s.tokens.Add(1)), len(sc.Tokens))-1], nil
		}
	}
	s = newStage(t, defaults, o)
	return s
}

// token checks with which token the client has come.
func (s *stage) token(st step) {
	if !st.has("token") {
		return
	}
	want := field[string](st, "token")
	if want != "" {
		want = "Bearer " + want
	}
	if s.peer.auth != want {
		s.t.Errorf("the client came with %q, want %q", s.peer.auth, want)
	}
}

func (s *stage) more(st step) {
	s.t.Helper()
	switch {
	case st.has("reply"):
		m := control.Reply{ID: field[int64](st, "reply"), Code: field[int64](st, "code"), Message: field[string](st, "message")}
		if m.Code == 0 {
			m.Payload = s.payload(st, func() ([]byte, error) { return (&market.Quote{Ts: field[int64](st, "ts")}).AppendNova(nil) })
		}
		s.peer.control(&m)
		synctest.Wait() // the outcome is told before that of the next
	case st.has("asks"):
		m := control.Call{ID: field[int64](st, "asks"), Name: "getQuote", DeadlineMs: field[int64](st, "deadlineMs")}
		if st.has("name") {
			m.Name = field[string](st, "name")
		}
		m.Payload = s.payload(st, func() ([]byte, error) {
			return (&market.GetQuoteRequest{Symbol: field[string](st, "symbol")}).AppendNova(nil)
		})
		s.peer.control(&m)
	case st.has("together"):
		var message []byte
		s.joined = &message
		for _, each := range field[[]map[string]json.RawMessage](st, "together") {
			s.step(step{s.t, each})
		}
		s.joined = nil
		s.peer.send(message)
	case st.has("tokens"):
		synctest.Wait()
		if n, want := s.tokens.Load(), field[int64](st, "tokens"); n != want {
			s.t.Errorf("%d tokens were asked for, want %d", n, want)
		}
	default:
		s.messages(field[map[string]int](st, "messages"))
	}
}

// payload is bytes of the step, or what make returns.
func (s *stage) payload(st step, make func() ([]byte, error)) []byte {
	var b []byte
	var err error
	if st.has("bytes") {
		b, err = hex.DecodeString(field[string](st, "bytes"))
	} else {
		b, err = make()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// messages counts the client's messages since the last look.
func (s *stage) messages(want map[string]int) {
	s.t.Helper()
	synctest.Wait()
	n, largest := 0, 0
	for len(s.peer.sizes) > 0 {
		largest = max(largest, <-s.peer.sizes)
		n++
	}
	for key, w := range want {
		if ok := map[string]bool{"exactly": n == w, "fewerThan": n < w, "largest": largest <= w}[key]; !ok {
			s.t.Errorf("%d messages, the largest of %d bytes; want %s %d", n, largest, key, w)
		}
	}
}

// symbol is that of the request, or the answer, in a call's frame.
func (s *stage) symbol(frame []byte) string {
	head, payload, err := wire.ParseFrame(frame)
	if err != nil {
		s.t.Fatal(err)
	}
	var call control.Call
	var reply control.Reply
	var in market.GetQuoteRequest
	var out market.Quote
	if head.ID == control.CallID {
		err = errors.Join(call.UnmarshalNova(payload), in.UnmarshalNova(call.Payload))
	} else {
		err = errors.Join(reply.UnmarshalNova(payload), out.UnmarshalNova(reply.Payload))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return in.Symbol + out.Symbol
}

func (s *stage) doMore(call []any) error {
	switch call[0] {
	case "call":
		s.call(call[1].(string), call[2:])
	case "cancel":
		s.giveUp[call[1].(string)]()
	case "answer":
		_, err := market.GetQuoteCall.On(s.conn, s.answer)
		return err
	case "sendAll":
		for n := call[1].(float64); n <= call[2].(float64); n++ {
			if err := market.QuoteEvent.Send(s.t.Context(), s.conn, &market.Quote{Ts: int64(n)}); err != nil {
				return err
			}
		}
	default:
		return errors.New("unknown call")
	}
	return nil
}

func (s *stage) call(symbol string, deadlineMs []any) {
	ctx, cancel := context.WithCancel(s.t.Context())
	if len(deadlineMs) > 0 {
		ctx, cancel = context.WithTimeout(s.t.Context(), time.Duration(deadlineMs[0].(float64))*time.Millisecond)
	}
	s.giveUp[symbol] = cancel
	go func() {
		defer cancel()
		q, err := market.GetQuoteCall.Do(ctx, s.conn, &market.GetQuoteRequest{Symbol: symbol})
		if err != nil {
			s.log.add("answer %s %v", symbol, nova.CodeOf(err))
			return
		}
		s.log.add("answer %s %d", symbol, q.Ts)
	}()
}

// answer is how the application answers the server.
func (s *stage) answer(ctx context.Context, in *market.GetQuoteRequest) (*market.Quote, error) {
	switch in.Symbol {
	case "missing":
		return nil, nova.Errorf(nova.NotFound, "gone")
	case "wait":
		s.log.add("asked wait")
		<-ctx.Done()
		s.log.add("given up")
		return nil, fmt.Errorf("wait: %w", ctx.Err())
	}
	return &market.Quote{Symbol: in.Symbol}, nil
}
