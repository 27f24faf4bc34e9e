package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/ignex/nova/wire"
)

// The vectors are those of the protocol document and of the FNV authors.
func TestEventID(t *testing.T) {
	for name, want := range map[string]uint32{
		"":          0x811c9dc5,
		"a":         0xe40c292c,
		"foobar":    0xbf9cf968,
		"quote":     0xb2887bd7,
		"trade":     0x51366e59,
		"portfolio": 0x1bac42e3,
		"hello":     0x4f9f2cab,
	} {
		if got := wire.EventID(name); got != want {
			t.Errorf("EventID(%q) = %#x, want %#x", name, got, want)
		}
	}
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// header is a valid envelope of "quote": version, id, flags, seq.
const header = "02" + "d77b88b2" + "00" + "0000000000000000"

func TestParseFrame(t *testing.T) {
	const trailer = "0102030405060708" + "1112131415161718"
	for name, c := range map[string]struct {
		frame string
		err   error
		head  wire.Header
		body  string
	}{
		"nothing":         {"", wire.ErrShort, wire.Header{}, ""},
		"one byte":        {"02", wire.ErrShort, wire.Header{}, ""},
		"header alone":    {header, wire.ErrShort, wire.Header{}, ""},
		"half a prefix":   {header + "000000", wire.ErrShort, wire.Header{}, ""},
		"version 0":       {"00" + header[2:] + "00000000", wire.ErrVersion, wire.Header{}, ""},
		"version 1":       {"01" + header[2:] + "00000000", wire.ErrVersion, wire.Header{}, ""},
		"version 3":       {"03" + header[2:] + "00000000", wire.ErrVersion, wire.Header{}, ""},
		"version 255":     {"ff" + header[2:] + "00000000", wire.ErrVersion, wire.Header{}, ""},
		"prefix too big":  {header + "05000000" + "aabbccdd", wire.ErrSize, wire.Header{}, ""},
		"prefix too low":  {header + "03000000" + "aabbccdd", wire.ErrSize, wire.Header{}, ""},
		"prefix 2^31-1":   {header + "ffffff7f" + "aabbccdd", wire.ErrSize, wire.Header{}, ""},
		"prefix 2^32-1":   {header + "ffffffff" + "aabbccdd", wire.ErrSize, wire.Header{}, ""},
		"prefix 2^32-18":  {header + "eeffffff", wire.ErrSize, wire.Header{}, ""},
		"no trailer":      {"02d77b88b2020000000000000000" + "04000000" + "aabbccdd", wire.ErrSize, wire.Header{}, ""},
		"trailer of 15":   {"02d77b88b2020000000000000000" + "04000000" + "aabbccdd" + trailer[2:], wire.ErrSize, wire.Header{}, ""},
		"trailer, no bit": {header + "04000000" + "aabbccdd" + trailer, wire.ErrSize, wire.Header{}, ""},
		"prefix -16":      {"02d77b88b2020000000000000000" + "f0ffffff", wire.ErrSize, wire.Header{}, ""},
		"empty":           {header + "00000000", nil, wire.Header{ID: 0xb2887bd7}, "00000000"},
		"plain":           {header + "04000000" + "aabbccdd", nil, wire.Header{ID: 0xb2887bd7}, "04000000aabbccdd"},
		"seq":             {"02d77b88b2010807060504030201" + "00000000", nil, wire.Header{ID: 0xb2887bd7, Seq: 0x0102030405060708}, "00000000"},
		"seq without bit": {"02d77b88b2000807060504030201" + "00000000", nil, wire.Header{ID: 0xb2887bd7}, "00000000"},
		"other flags":     {"02d77b88b2fc0000000000000000" + "00000000", nil, wire.Header{ID: 0xb2887bd7}, "00000000"},
		"trailer":         {"02d77b88b2020000000000000000" + "04000000" + "aabbccdd" + trailer, nil, wire.Header{ID: 0xb2887bd7, Trailer: true}, "04000000aabbccdd"},
		"seq and trailer": {"02d77b88b2030100000000000000" + "00000000" + trailer, nil, wire.Header{ID: 0xb2887bd7, Seq: 1, Trailer: true}, "00000000"},
		"unknown event":   {"0278563412000000000000000000" + "00000000", nil, wire.Header{ID: 0x12345678}, "00000000"},
	} {
		t.Run(name, func(t *testing.T) {
			head, body, err := wire.ParseFrame(unhex(c.frame))
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if head != c.head || !bytes.Equal(body, unhex(c.body)) {
				t.Fatalf("got %+v %x, want %+v %s", head, body, c.head, c.body)
			}
			if cap(body) != len(body) {
				t.Error("an append to the payload would overwrite the trailer")
			}
		})
	}
}

func TestAppendHeaderAndStamp(t *testing.T) {
	frame := wire.AppendHeader([]byte("kept"), 0xb2887bd7)
	if want := "6b657074" + header; hex.EncodeToString(frame) != want {
		t.Fatalf("header %x, want %s", frame, want)
	}
	frame = append(frame[4:], 0, 0, 0, 0)
	wire.Stamp(frame, 0x0102030405060708)
	if want := "02d77b88b2010807060504030201" + "00000000"; hex.EncodeToString(frame) != want {
		t.Fatalf("stamped %x, want %s", frame, want)
	}
	frame[5] |= 2
	wire.Stamp(frame, 7)
	if frame[5] != 3 {
		t.Fatalf("Stamp changed the trailer bit: flags %d", frame[5])
	}
}

// Every value of each header byte: an error or a value, and a wrong version or
// length is never accepted.
func FuzzParseFrame(f *testing.F) {
	f.Add(unhex(header + "04000000aabbccdd"))
	f.Add(unhex("02d77b88b2030100000000000000" + "00000000" + "01020304050607081112131415161718"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, frame []byte) {
		head, body, err := wire.ParseFrame(frame)
		if err != nil {
			if !errors.Is(err, wire.ErrShort) && !errors.Is(err, wire.ErrVersion) && !errors.Is(err, wire.ErrSize) {
				t.Fatalf("cause without a name: %v", err)
			}
			return
		}
		extra := 0
		if head.Trailer {
			extra = wire.TrailerLen
		}
		if frame[0] != wire.Version || len(body)+wire.HeaderLen+extra != len(frame) {
			t.Fatalf("accepted %x as %+v with %d payload bytes", frame, head, len(body))
		}
		size := uint64(body[0]) | uint64(body[1])<<8 | uint64(body[2])<<16 | uint64(body[3])<<24
		if size+4 != uint64(len(body)) {
			t.Fatalf("prefix %d, payload %d", size, len(body))
		}
	})
}

// Whatever a message holds, its pieces are the message again, and all but the last
// are as long as they say.
func FuzzSplit(f *testing.F) {
	frame := append(wire.AppendHeader(nil, 7), 4, 0, 0, 0, 1, 2, 3, 4)
	trailed := append(append([]byte(nil), frame...), make([]byte, wire.TrailerLen)...)
	trailed[5] |= 2
	f.Add(frame)
	f.Add(append(append(append([]byte(nil), frame...), trailed...), frame...))
	f.Add(append(append([]byte(nil), trailed...), 1))
	f.Fuzz(func(t *testing.T, message []byte) {
		var all []byte
		for rest := message; ; {
			var piece []byte
			piece, rest = wire.Split(rest)
			all = append(all, piece...)
			if len(rest) == 0 {
				break
			}
			if _, _, err := wire.ParseFrame(piece); err != nil && !errors.Is(err, wire.ErrVersion) {
				t.Fatalf("%x: %v", piece, err)
			}
		}
		if !bytes.Equal(all, message) {
			t.Fatalf("the pieces of %x are %x", message, all)
		}
	})
}
