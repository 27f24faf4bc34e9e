package control_test

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

type message interface {
	AppendFrame(dst []byte) ([]byte, error)
	UnmarshalNova(payload []byte) error
}

// The frames were written by the FlatBuffers builder of the npm package
// flatbuffers over the same tables, not by nova.
var golden = []struct {
	id    uint32
	hex   string
	value message
}{
	{control.HelloID, "02ab2c9f4f000000000000000000240000000c0000000800140008000400080000001000000002000000000000000000000000000000",
		&control.Hello{Version: 2, Caps: []string{}}},
	{control.PingID, "0289f05d160000000000000000001c0000001000000000000000000006000c000400060000000100000000000000",
		&control.Ping{Ts: 1}},
	{control.PongID, "02b716db7a0000000000000000001c0000001000000000000000000006000c000400060000000100000000000000",
		&control.Pong{Ts: 1}},
	{control.SubscribeID, "02034a9eaf000000000000000000240000000c0000000000060008000400060000000400000008000000657175697469657300000000",
		&control.Subscribe{Topic: "equities"}},
	{control.JoinGroupID, "02d04066b4000000000000000000200000000c00000000000600080004000600000004000000040000006265746100000000",
		&control.JoinGroup{Group: "beta"}},
	{control.SnapshotRequestID, "02eae5744a0000000000000000002c0000001000000000000000080014001000040008000000030000000000000000000000040000000100000074000000",
		&control.SnapshotRequest{Topic: "t", FromSeq: 3}},
	{control.ResumeID, "026aa339ff0000000000000000001c0000001000000000000000000006000c000400060000000a00000000000000",
		&control.Resume{LastSeq: 10}},
	{control.ResumedID, "020aafbbd50000000000000000002400000010000000000000000800140013000400080000000b000000000000000000000000000001",
		&control.Resumed{Ok: true, From: 11}},
	{control.WelcomeID, "02f37de127000000000000000000300000000c00000008000c0008000400080000000800000014000000010000000400000001000000610000000200000063310000",
		&control.Welcome{ClientID: "c1", Groups: []string{"a"}}},
	{control.RpcCallID, "02d456cb3a000000000000000000400000001000000000000a0010000c00080004000a0000000c000000140000001c0000000400000041413d3d000000000500000071756f74650000000200000072310000",
		&control.RpcCall{ID: "r1", Name: "quote", PayloadB64: "AA=="}},
	{control.RpcResultID, "022dfda82600000000000000000038000000100000000c0010000c000000080004000c0000000c0000001000000014000000000000000000000001000000780000000200000072310000",
		&control.RpcResult{ID: "r1", Err: "x"}},
}

func TestGoldenFrames(t *testing.T) {
	for _, g := range golden {
		frame, err := hex.DecodeString(g.hex)
		if err != nil {
			t.Fatal(err)
		}
		h, payload, err := wire.ParseFrame(frame)
		if err != nil || h.ID != g.id {
			t.Errorf("%T: id %#x, want %#x: %v", g.value, h.ID, g.id, err)
			continue
		}
		check(t, g.value, payload)
		ours, err := g.value.AppendFrame(nil)
		if err != nil {
			t.Fatal(err)
		}
		if h, payload, err = wire.ParseFrame(ours); err != nil || h.ID != g.id {
			t.Errorf("%T: our own frame has id %#x: %v", g.value, h.ID, err)
		}
		check(t, g.value, payload)
	}
}

func check(t *testing.T, want message, payload []byte) {
	t.Helper()
	got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(message)
	if err := got.UnmarshalNova(payload); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v: %v", got, want, err)
	}
}

func TestAllZeroBodyIsTheEmptyValue(t *testing.T) {
	var hello control.Hello
	// Size prefix, root offset, a vtable without fields, the table.
	empty := []byte{12, 0, 0, 0, 8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0}
	if err := hello.UnmarshalNova(empty); err != nil || hello.Version != 0 || hello.Caps == nil || hello.LastSeq != 0 {
		t.Errorf("%+v, %v", hello, err)
	}
}

func TestIDsAreHashesOfTheNames(t *testing.T) {
	for _, e := range control.Layout.Events {
		if e.ID != wire.EventID(e.Name) {
			t.Errorf("%s has id %#x", e.Name, e.ID)
		}
	}
	if n := len(control.Layout.Events); n < 28 {
		t.Errorf("%d control events; there are 13 of the base protocol, 4 of topics/1, 6 of session/1, 2 of auth/1 and 3 of calls/1", n)
	}
}
