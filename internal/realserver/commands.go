package realserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
)

// commands are what the server does, and what it has seen.
type commands struct {
	hub *hub.Hub

	mu      sync.Mutex
	handled []string
	called  []string
}

func (c *commands) register() error {
	market.ChatEvent.On(c.hub, c.handle)
	if _, err := market.GetQuoteCall.Handle(c.hub, c.quote); err != nil {
		return err
	}
	_, err := market.ChatEvent.Respond(c.hub, c.respond)
	return err
}

// quote answers with the symbol, or does what it says.
func (c *commands) quote(ctx context.Context, from *nova.Client, in *market.GetQuoteRequest) (*market.Quote, error) {
	c.mu.Lock()
	c.called = append(c.called, in.Symbol)
	c.mu.Unlock()
	switch in.Symbol {
	case "missing":
		return nil, nova.Errorf(nova.NotFound, "no symbol %q", in.Symbol)
	case "broken":
		return nil, errors.New("a secret")
	case "wait":
		<-ctx.Done()
		c.mu.Lock()
		c.called = append(c.called, ctx.Err().Error())
		c.mu.Unlock()
		return nil, ctx.Err()
	case "back":
		return market.GetQuoteCall.Do(ctx, from, in)
	case "events":
		for ts := range int64(20) {
			if err := market.ChatEvent.Publish(ctx, c.hub, nova.ClientID(from.ID()), &market.Chat{Ts: ts}); err != nil {
				return nil, err
			}
		}
	case "trace":
		return &market.Quote{Symbol: nova.TraceOf(ctx)}, nil
	}
	return &market.Quote{Symbol: in.Symbol, Bid: 1.5}, nil
}

func (c *commands) respond(_ context.Context, _ *nova.Client, m *market.Chat) (*market.Chat, error) {
	if m.Text == "no" {
		return nil, nova.Errorf(nova.Denied, "not you")
	}
	return &market.Chat{Text: m.Text + "!"}, nil
}

func (c *commands) call(symbol string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	clients := c.hub.Clients()
	if len(clients) != 1 {
		return fmt.Sprintf("error: %d clients", len(clients))
	}
	if symbol == "hurry" {
		ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
	}
	q, err := market.GetQuoteCall.Do(nova.WithTrace(ctx, "00-trace"), clients[0], &market.GetQuoteRequest{Symbol: symbol})
	if err != nil {
		return err.Error()
	}
	return q.Symbol
}

func (c *commands) handle(_ context.Context, _ *nova.Client, m *market.Chat) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handled = append(c.handled, m.Text)
	return nil
}

func (c *commands) obey(line string) string {
	if symbol, ok := strings.CutPrefix(line, "call "); ok {
		return c.call(symbol)
	}
	if line == "handled" || line == "called" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if line == "called" {
			return strings.Join(c.called, ",")
		}
		return strings.Join(c.handled, ",")
	}
	var topic string
	var rate, seconds int
	if _, err := fmt.Sscanf(line, "stream %s %d %d", &topic, &rate, &seconds); err == nil {
		return c.stream(topic, rate, seconds)
	}
	var first, count int64
	var size int
	if _, err := fmt.Sscanf(line, "publish %s %d %d %d", &topic, &first, &count, &size); err != nil {
		return fmt.Sprintf("error: %q: %v", line, err)
	}
	for ts := first; ts < first+count; ts++ {
		m := &market.Chat{Room: topic, Text: text(ts, size), Ts: ts}
		if err := market.ChatEvent.Publish(context.Background(), c.hub, nova.Topic(topic), m); err != nil {
			return fmt.Sprintf("error: chat %d: %v", ts, err)
		}
	}
	return "ok"
}

func text(ts int64, size int) string {
	b := make([]byte, 0, size+20)
	for n := ts; len(b) < size; n += 7919 {
		b = append(strconv.AppendInt(b, n, 10), ',')
	}
	return string(b[:size])
}

// stream publishes in steps of 2 ms, as feeds do that gather what came.
func (c *commands) stream(topic string, rate, seconds int) string {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	done, begin := 0, time.Now()
	for now := begin; now.Sub(begin) < time.Duration(seconds)*time.Second; now = <-tick.C {
		for due := int(now.Sub(begin).Seconds() * float64(rate)); done < due; done++ {
			q := &market.Quote{Symbol: fmt.Sprintf("S%03d", done%1000), Bid: float64(done), Ask: 1, Ts: int64(done)}
			if err := market.QuoteEvent.Publish(context.Background(), c.hub, nova.Topic(topic), q); err != nil {
				return fmt.Sprintf("error: quote %d: %v", done, err)
			}
		}
	}
	return strconv.Itoa(done)
}
