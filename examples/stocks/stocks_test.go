package stocks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/examples/stocks"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/internal/leak"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

func TestMain(m *testing.M) { leak.Main(m) }

// The structs say what market/schema.json says: one layout, one fingerprint.
func TestSameSchemaAsJSON(t *testing.T) {
	ours, theirs := *stocks.Schema.Layout(), *market.Schema.Layout()
	if ours.Fingerprint != theirs.Fingerprint {
		t.Errorf("fingerprint %s, of the JSON Schema %s", ours.Fingerprint, theirs.Fingerprint)
	}
	for _, part := range []struct {
		name string
		a, b any
	}{{"tables", ours.Tables, theirs.Tables}, {"enums", ours.Enums, theirs.Enums}, {"events", ours.Events, theirs.Events}, {"calls", ours.Calls, theirs.Calls}} {
		a, errA := json.Marshal(part.a)
		b, errB := json.Marshal(part.b)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s\n%s %v\n%s %v", part.name, a, errA, b, errB)
		}
	}
}

type message interface {
	AppendNova(dst []byte) ([]byte, error)
	UnmarshalNova(payload []byte) error
}

// Values mean the same bytes as to the code generated from the JSON Schema.
func TestSameBytesAsJSONSchema(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	layout := market.Schema.Layout()
	random := golden.NewRandom(layout, seed)
	random.Finite = true
	for event, pair := range map[string][2]message{
		"quote": {&stocks.Quote{}, &market.Quote{}}, "trade": {&stocks.Trade{}, &market.Trade{}},
		"portfolio": {&stocks.PortfolioSnapshot{}, &market.PortfolioSnapshot{}}, "complex": {&stocks.Complex{}, &market.Complex{}},
		"order": {&stocks.Order{}, &market.Order{}}, "bigVal": {&stocks.BigVal{}, &market.BigVal{}}, "chat": {&stocks.Chat{}, &market.Chat{}},
	} {
		table := layout.EventByName(event).Table
		for range 200 {
			text := golden.JSON(layout, table, random.Table(table))
			var bytesOf [2][]byte
			for i, m := range pair {
				fresh := reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
				if err := json.Unmarshal(text, fresh); err != nil {
					t.Fatalf("%s: %v: %s", event, err, text)
				}
				payload, err := fresh.AppendNova(nil)
				if err != nil {
					t.Fatalf("%s: %v: %s", event, err, text)
				}
				bytesOf[i] = payload
				if err := m.UnmarshalNova(payload); err != nil || !reflect.DeepEqual(m, fresh) {
					t.Fatalf("%s: %v\nin  %+v\nout %+v", event, err, fresh, m)
				}
			}
			if !bytes.Equal(bytesOf[0], bytesOf[1]) {
				t.Fatalf("%s: %s\nstructs     %x\nJSON Schema %x", event, text, bytesOf[0], bytesOf[1])
			}
		}
	}
}

// A client with the structs asks a server with the JSON Schema's types, and gets
// an event.
func TestStructsOverASocket(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	h, err := hub.New(hub.Options{Schema: market.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(ctx)
	market.ChatEvent.On(h, func(ctx context.Context, _ *nova.Client, in *market.Chat) error {
		return market.OrderEvent.Publish(ctx, h, nova.Topic(in.Room), &market.Order{OrderID: in.Text, Lines: []market.OrderLine{{Sku: "a", Qty: 2, Tags: []market.Tag{market.TagSale}}}})
	})
	srv, err := server.New(h, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown(ctx)
	web := httptest.NewServer(srv)
	defer web.Close()
	conn, err := client.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http"), client.Options{Schema: stocks.Schema})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	orders, err := conn.Subscribe(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	all := stocks.OrderEvent.All(ctx, orders)
	if err := stocks.ChatEvent.Send(ctx, conn, &stocks.Chat{Room: "orders", Text: "o-1"}); err != nil {
		t.Fatal(err)
	}
	for order, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if order.OrderID != "o-1" || len(order.Lines) != 1 || order.Lines[0].Qty != 2 || !reflect.DeepEqual(order.Lines[0].Tags, []stocks.Tag{stocks.Sale}) {
			t.Errorf("got %+v", order)
		}
		break
	}
}

func TestStringsThatAreNoLiterals(t *testing.T) {
	_, err := (&stocks.Trade{Side: "hold"}).AppendNova(nil)
	if err == nil || err.Error() != `cannot encode: side: "hold" is no Side: want one of "buy", "sell"` {
		t.Error(err)
	}
	_, err = (&stocks.Order{Lines: []stocks.OrderLine{{}, {Tags: []stocks.Tag{"hot", "cold"}}}}).AppendNova(nil)
	if err == nil || err.Error() != `cannot encode: lines[1].tags[1]: "cold" is no Tag: want one of "hot", "new", "sale"` {
		t.Error(err)
	}
	// A number that a newer schema added comes and goes as it is.
	payload, err := (&stocks.Trade{Side: "unknown:7"}).AppendNova(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out stocks.Trade
	if err := out.UnmarshalNova(payload); err != nil || out.Side != "unknown:7" {
		t.Error(err, out.Side)
	}
	if err := (&stocks.Chat{Text: strings.Repeat("x", 2001)}).Validate(); err == nil || !strings.Contains(err.Error(), "text: must have at most 2000 characters") {
		t.Error(err)
	}
}
