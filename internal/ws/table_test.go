package ws_test

import (
	"fmt"
	"strings"
)

// testCase is one line of the table: the sections named are those of the
// Autobahn test suite, whose cases it follows.
type testCase struct {
	name  string
	parts []part
	limit int
	want  []string
	code  int // of the violation, 0 = none
}

type part struct {
	first   byte   // FIN, reserved bits, opcode
	payload string // the header says its true length
	raw     string // instead: bytes after first; the length byte gets the mask bit
}

func (c testCase) build(masked bool) []byte {
	var b []byte
	for _, p := range c.parts {
		if p.raw == "" {
			b = append(b, frame(p.first, p.payload, masked)...)
			continue
		}
		raw := []byte(p.raw)
		if masked {
			raw[0] |= 0x80
			raw = append(raw, 0, 0, 0, 0) // a key, should it ever be read
		}
		b = append(append(b, p.first), raw...)
	}
	return b
}

func table() []testCase {
	long := func(n int) string { return strings.Repeat("*", n) }
	msg := func(op string, n int) string { return fmt.Sprintf("%s %q", op, short([]byte(long(n)))) }
	cases := []testCase{
		{name: "1.1 text empty", parts: []part{{first: 0x81}}, want: []string{`text ""`}},
		{name: "2.5 ping 126", parts: []part{{first: 0x89, payload: long(126)}}, code: 1002},
		{name: "2.5 pong 126", parts: []part{{first: 0x8a, payload: long(126)}}, code: 1002},
		{name: "2.5 close 126", parts: []part{{first: 0x88, payload: long(126)}}, code: 1002},
		{name: "2.9 pong, ping", parts: []part{{first: 0x8a, payload: "a"}, {first: 0x89}}, want: []string{`pong "a"`, `ping ""`}},
		{name: "4.1 after text", parts: []part{{first: 0x81, payload: "hi"}, {first: 0x83}}, want: []string{`text "hi"`}, code: 1002},
		{name: "5.1 fragmented ping", parts: []part{{first: 0x09, payload: "a"}, {first: 0x80}}, code: 1002},
		{name: "5.2 fragmented pong", parts: []part{{first: 0x0a}}, code: 1002},
		{name: "fragmented close", parts: []part{{first: 0x08}}, code: 1002},
		{name: "5.3 two fragments", parts: []part{{first: 0x01, payload: "frag"}, {first: 0x80, payload: "ment"}}, want: []string{`text "fragment"`}},
		{name: "5.6 ping between", parts: []part{{first: 0x02, payload: "frag"}, {first: 0x89, payload: "p"}, {first: 0x80, payload: "ment"}}, want: []string{`ping "p"`, `binary "fragment"`}},
		{name: "5.9 continuation alone", parts: []part{{first: 0x80, payload: "x"}}, code: 1002},
		{name: "5.10 continuation alone, more follow", parts: []part{{first: 0x00, payload: "x"}}, code: 1002},
		{name: "5.12 continuation after message", parts: []part{{first: 0x82, payload: "a"}, {first: 0x00, payload: "b"}}, want: []string{`binary "a"`}, code: 1002},
		{name: "5.15 message then bad continuation", parts: []part{{first: 0x01, payload: "a"}, {first: 0x80, payload: "b"}, {first: 0x00, payload: "c"}, {first: 0x81, payload: "d"}}, want: []string{`text "ab"`}, code: 1002},
		{name: "5.18 text inside text", parts: []part{{first: 0x01, payload: "a"}, {first: 0x81, payload: "b"}}, code: 1002},
		{name: "binary inside text", parts: []part{{first: 0x01, payload: "a"}, {first: 0x02, payload: "b"}}, code: 1002},
		{name: "5.19 pings between five", parts: []part{
			{first: 0x01, payload: "1"}, {first: 0x00, payload: "2"}, {first: 0x89, payload: "x"}, {first: 0x00, payload: "3"},
			{first: 0x00, payload: "4"}, {first: 0x89, payload: "y"}, {first: 0x80, payload: "5"},
		}, want: []string{`ping "x"`, `ping "y"`, `text "12345"`}},
		{name: "6.1 empty fragments", parts: []part{{first: 0x01}, {first: 0x00}, {first: 0x80}}, want: []string{`text ""`}},
		{name: "6.1.3 empty around", parts: []part{{first: 0x02}, {first: 0x00, payload: "mid"}, {first: 0x80}}, want: []string{`binary "mid"`}},
		{name: "binary is never checked for UTF-8", parts: []part{{first: 0x82, payload: "\xff\xfe"}}, want: []string{`binary "\xff\xfe"`}},
		{name: "7.1.3 ping after close", parts: []part{{first: 0x88, payload: "\x03\xe8"}, {first: 0x89}}, want: []string{`close "\x03\xe8"`}},
		{name: "7.1.5 close inside fragments", parts: []part{{first: 0x01, payload: "a"}, {first: 0x88}, {first: 0x80, payload: "b"}}, want: []string{`close ""`}},
		{name: "after close even garbage is ignored", parts: []part{{first: 0x88}, {first: 0xff, payload: "zz"}}, want: []string{`close ""`}},
		{name: "7.3.1 close empty", parts: []part{{first: 0x88}}, want: []string{`close ""`}},
		{name: "7.3.2 close 1 byte", parts: []part{{first: 0x88, payload: "\x03"}}, code: 1002},
		{name: "7.3.5 close longest reason", parts: []part{{first: 0x88, payload: "\x03\xe8" + long(123)}}, want: []string{fmt.Sprintf("close %q", "\x03\xe8"+long(123))}},
		{name: "7.5.1 bad UTF-8 reason", parts: []part{{first: 0x88, payload: "\x03\xe8\xce\xba\xed\xa0\x80"}}, code: 1007},
		{name: "cut UTF-8 reason", parts: []part{{first: 0x88, payload: "\x03\xe8\xe2\x82"}}, code: 1007},
		{name: "9 64 KiB in fragments", parts: []part{{first: 0x02, payload: long(40000)}, {first: 0x00, payload: long(40000)}, {first: 0x80, payload: long(1)}}, want: []string{msg("binary", 80001)}},
		{name: "limit exact", limit: 100, parts: []part{{first: 0x82, payload: long(100)}}, want: []string{msg("binary", 100)}},
		{name: "limit passed", limit: 100, parts: []part{{first: 0x82, payload: long(101)}}, code: 1009},
		{name: "limit passed by the header alone", limit: 1000, parts: []part{{first: 0x82, raw: "\x7f\x00\x00\x00\x00\x40\x00\x00\x00"}}, code: 1009},
		{name: "limit exact in fragments", limit: 100, parts: []part{{first: 0x02, payload: long(60)}, {first: 0x80, payload: long(40)}}, want: []string{msg("binary", 100)}},
		{name: "limit passed in fragments", limit: 100, parts: []part{{first: 0x02, payload: long(60)}, {first: 0x00, payload: long(41)}}, code: 1009},
		{name: "limit is not for control", limit: 1, parts: []part{{first: 0x89, payload: "ping"}}, want: []string{`ping "ping"`}},
		{name: "no limit, huge claim waits", parts: []part{{first: 0x82, raw: "\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"}}},
		{name: "huge claim on top of a fragment", limit: 1 << 40, parts: []part{{first: 0x02, payload: "a"}, {first: 0x80, raw: "\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"}}, code: 1009},
		{name: "125 in 16 bits", parts: []part{{first: 0x82, raw: "\x7e\x00\x7d"}}, code: 1002},
		{name: "0 in 16 bits", parts: []part{{first: 0x82, raw: "\x7e\x00\x00"}}, code: 1002},
		{name: "65535 in 64 bits", parts: []part{{first: 0x82, raw: "\x7f\x00\x00\x00\x00\x00\x00\xff\xff"}}, code: 1002},
		{name: "top bit in 64 bits", parts: []part{{first: 0x82, raw: "\x7f\x80\x00\x00\x00\x00\x00\x00\x01"}}, code: 1002},
		{name: "ping with 16 bits of length", parts: []part{{first: 0x89, raw: "\x7e\x00\x7e"}}, code: 1002},
		{name: "close with 64 bits of length", parts: []part{{first: 0x88, raw: "\x7f\x00\x00\x00\x00\x00\x01\x00\x00"}}, code: 1002},
	}
	for _, n := range []int{1, 7, 8, 9, 124, 125, 126, 127, 128, 65535, 65536, 100000} {
		cases = append(cases,
			testCase{name: fmt.Sprintf("1.1 text %d", n), parts: []part{{first: 0x81, payload: long(n)}}, want: []string{msg("text", n)}},
			testCase{name: fmt.Sprintf("1.2 binary %d twice", n), parts: []part{{first: 0x82, payload: long(n)}, {first: 0x82, payload: long(n)}}, want: []string{msg("binary", n), msg("binary", n)}})
	}
	for _, n := range []int{0, 1, 8, 125} {
		cases = append(cases, testCase{name: fmt.Sprintf("2 ping %d", n), parts: []part{{first: 0x89, payload: long(n)}}, want: []string{fmt.Sprintf("ping %q", long(n))}})
	}
	for rsv := byte(1); rsv < 8; rsv++ {
		for _, op := range []byte{0x81, 0x82, 0x88, 0x89, 0x8a} {
			cases = append(cases, testCase{name: fmt.Sprintf("3 reserved bits %d on %x", rsv, op), parts: []part{{first: 0x82, payload: "a"}, {first: op | rsv<<4, payload: "b"}}, want: []string{`binary "a"`}, code: 1002})
		}
	}
	for _, op := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		cases = append(cases, testCase{name: fmt.Sprintf("4 opcode %d", op), parts: []part{{first: 0x80 | op, payload: "a"}}, code: 1002},
			testCase{name: fmt.Sprintf("4 opcode %d, no FIN", op), parts: []part{{first: op}}, code: 1002})
	}
	closing := func(n int) []part {
		return []part{{first: 0x88, payload: string([]byte{byte(n >> 8), byte(n)}) + "ok"}}
	}
	for _, n := range []int{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4401, 4999} {
		cases = append(cases, testCase{name: fmt.Sprintf("7.7 close %d", n), parts: closing(n), want: []string{fmt.Sprintf("close %q", string([]byte{byte(n >> 8), byte(n)})+"ok")}})
	}
	for _, n := range []int{0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535} {
		cases = append(cases, testCase{name: fmt.Sprintf("7.9 close %d", n), parts: closing(n), code: 1002})
	}
	return cases
}
