package hub_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
)

func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, hub.Options{Trace: hub.TraceOptions{Capacity: 4}, Inbound: []string{"chat"}})
		p := connect(t, h, hub.Identity{ClientID: "ann"})
		began := time.Now()
		publish := func(to nova.Target) {
			t.Helper()
			if err := market.QuoteEvent.Publish(t.Context(), h, to, &market.Quote{Symbol: "A"}); err != nil {
				t.Fatal(err)
			}
		}
		publish(nova.Broadcast())
		publish(nova.Topic("a"))
		time.Sleep(3 * time.Millisecond) // of the bubble
		publish(nova.Topics("a", "b", "c"))
		time.Sleep(time.Minute) // the trace's clock stands still meanwhile
		payload, err := (&market.Chat{Text: "hi"}).AppendNova(nil)
		if err != nil {
			t.Fatal(err)
		}
		inbound(h, p, market.ChatEvent.ID(), payload)
		inbound(h, p, market.QuoteEvent.ID(), payload) // refused
		publish(nova.ClientID("ann"))

		list := h.Trace().Recent(0, hub.TraceFilter{})
		want := []hub.TraceEntry{
			{Seq: 5, Direction: hub.OutEmit, Event: "quote", Kind: nova.ToClient, Name: "ann"},
			{Seq: 4, Direction: hub.InClient, Event: "chat", Name: "ann"},
			{Seq: 3, Direction: hub.OutEmit, Event: "quote", Kind: nova.ToTopics, Name: "a", More: 2},
			{Seq: 2, Direction: hub.OutEmit, Event: "quote", Kind: nova.ToTopic, Name: "a"},
		}
		after := []time.Duration{time.Minute + 3*time.Millisecond, time.Minute + 3*time.Millisecond, 3 * time.Millisecond, 0}
		if len(list) != len(want) {
			t.Fatalf("%d entries: %+v", len(list), list)
		}
		for i, e := range list {
			if off := e.Time.Sub(began) - after[i]; off < -time.Millisecond || off > 0 {
				t.Errorf("entry %d: %v off", e.Seq, off)
			}
			if e.Bytes < len(payload) {
				t.Errorf("entry %d: %d bytes", e.Seq, e.Bytes)
			}
			e.Time, e.Bytes = time.Time{}, 0
			if e != want[i] {
				t.Errorf("%+v, want %+v", e, want[i])
			}
		}
		if l := h.Trace().Recent(1, hub.TraceFilter{Event: "quote", Name: "a"}); len(l) != 1 || l[0].Seq != 3 {
			t.Errorf("filtered: %+v", l)
		}
		if l := h.Trace().Recent(0, hub.TraceFilter{Directions: []hub.Direction{hub.InClient}}); len(l) != 1 || l[0].Seq != 4 {
			t.Errorf("filtered: %+v", l)
		}
		h.Trace().Clear()
		h.Trace().Enable(false)
		publish(nova.Broadcast())
		s := h.Trace().Stats()
		if s.Enabled || s.Size != 0 || s.Capacity != 4 || s.Total != 5 || s.In != 1 || s.Out != 4 ||
			s.ByName["quote"] != 4 || s.ByName["chat"] != 1 || len(s.ByName) != 2 || s.Last.Before(began.Add(time.Minute)) {
			t.Errorf("%+v", s)
		}
		if text, _ := json.Marshal(hub.OutPublish); string(text) != `"out.publish"` {
			t.Errorf("%s", text)
		}
	})
}

func TestTraceSwitchedOff(t *testing.T) {
	for _, name := range []string{"NOVA_TRACE", "IGNEX_NOVA_TRACE"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "0")
			for capacity, want := range map[int]bool{0: false, -1: false, 10: true} {
				h := newHub(t, hub.Options{Trace: hub.TraceOptions{Capacity: capacity}})
				if on := h.Trace().Stats().Enabled; on != want {
					t.Errorf("capacity %d: enabled %v", capacity, on)
				}
				h.Trace().Enable(true)
				if err := market.QuoteEvent.Publish(t.Context(), h, nova.Broadcast(), &market.Quote{}); err != nil {
					t.Fatal(err)
				}
				if n := len(h.Trace().Recent(0, hub.TraceFilter{})); n != 1 {
					t.Errorf("capacity %d: %d entries", capacity, n)
				}
			}
		})
	}
}
