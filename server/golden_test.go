package server_test

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// golden are frames that another implementation of the base protocol wrote: the
// object API of npm flatbuffers 25.9.23. Ours are laid out otherwise.
var golden = map[string]string{
	"hello":              "02ab2c9f4f000000000000000000240000000c0000000800140008000400080000001000000002000000000000000000000000000000",
	"subscribe":          "02034a9eaf000000000000000000240000000c0000000000060008000400060000000400000008000000657175697469657300000000",
	"joinGroup":          "02d04066b4000000000000000000200000000c00000000000600080004000600000004000000040000006265746100000000",
	"snapshotRequest":    "02eae5744a0000000000000000002c0000001000000000000000080014001000040008000000030000000000000000000000040000000100000074000000",
	"rpcCall":            "02d456cb3a000000000000000000400000001000000000000a0010000c00080004000a0000000c000000140000001c0000000400000041413d3d000000000500000071756f74650000000200000072310000",
	"quote":              "02d77b88b2000000000000000000540000001800000000000000100030002c0024001c0014000c000400100000000500000000000000040000000000000003000000000000000000000000000040000000000000f03f04000000040000004141504c00000000",
	"resume":             "026aa339ff0000000000000000001c0000001000000000000000000006000c000400060000000a00000000000000",
	"ping":               "0289f05d160000000000000000001c0000001000000000000000000006000c000400060000000100000000000000",
	"quote with file id": "02d77b88b2000000000000000000540000001800000049474e58100030002c0024001c0014000c000400100000000500000000000000040000000000000003000000000000000000000000000040000000000000f03f04000000040000004141504c00000000",
}

func (p *rawPeer) golden(name string) {
	p.t.Helper()
	frame, err := hex.DecodeString(golden[name])
	if err != nil || len(frame) == 0 {
		p.t.Fatalf("%s: %v", name, err)
	}
	p.write(ws.AppendMasked(nil, ws.Binary, frame, [4]byte{7, 7, 7, 7}))
}

func TestGoldenPeer(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	got := make(chan market.Quote, 2)
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		got <- *q
		return nil
	})
	for n := 1; n <= 5; n++ {
		r.publish(nova.Topic("t"), n)
	}
	p := r.dial("", "")
	p.frame()
	p.frame()
	for _, name := range []string{"hello", "subscribe", "joinGroup", "quote", "quote with file id"} {
		p.golden(name)
	}
	want := market.Quote{Symbol: "AAPL", Bid: 1, Ask: 2, BidSize: 3, AskSize: 4, Ts: 5}
	for range 2 {
		if q := <-got; q != want {
			t.Errorf("handled %+v, want %+v", q, want)
		}
	}
	r.publish(nova.Topic("equities"), 1)
	p.quote(1)
	r.publish(nova.Group("beta"), 2)
	p.quote(2)
	p.golden("snapshotRequest") // after offset 3
	p.quote(3)
	p.quote(4)
	p.golden("resume") // from number 10, which was never given
	var resumed control.Resumed
	p.control(control.ResumedID, &resumed)
	if resumed.Ok || resumed.From != 0 {
		t.Errorf("%+v", resumed)
	}
	p.golden("rpcCall")
	var result control.RpcResult
	p.control(control.RpcResultID, &result)
	if result.ID != "r1" || result.Err != "no handler for quote" {
		t.Errorf("%+v", result)
	}
	p.golden("ping")
	var pong control.Pong
	p.control(control.PongID, &pong)
	if pong.Ts != 1 {
		t.Errorf("%+v", pong)
	}
	if m := r.srv.Metrics().Hub; m.Undecodable != 0 || m.NotAllowed != 0 || m.UnknownEvents != 0 {
		t.Errorf("%+v", m)
	}
}
