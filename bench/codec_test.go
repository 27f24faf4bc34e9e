package bench

import (
	"reflect"
	"testing"

	"github.com/ignex/nova/bench/internal/codecs"
)

// All codecs hold the same message, so that the figures compare equal work.
func TestCodecsAgree(t *testing.T) {
	for _, c := range codecs.Cases() {
		for _, codec := range c.Codecs {
			var buf []byte
			for range 2 { // the second time into used buffers
				var data []byte
				data, buf = codec.Encode(buf)
				if err := codec.Decode(data); err != nil {
					t.Fatalf("%s %s: %v", c.Name, codec.Name, err)
				}
				if got := codec.Decoded(); !reflect.DeepEqual(got, c.Message) {
					t.Errorf("%s %s: got %+v, want %+v", c.Name, codec.Name, got, c.Message)
				}
			}
		}
	}
}

// nova and google/flatbuffers read each other's bytes.
func TestFlatBuffersAreExchanged(t *testing.T) {
	for _, c := range codecs.Cases() {
		nova, google := c.Codecs[0], c.Codecs[1]
		ours, _ := nova.Encode(nil)
		theirs, _ := google.Encode(nil)
		if err := nova.Decode(theirs); err != nil || !reflect.DeepEqual(nova.Decoded(), c.Message) {
			t.Errorf("%s: nova reads %+v, %v from google's bytes", c.Name, nova.Decoded(), err)
		}
		if err := google.Decode(ours); err != nil || !reflect.DeepEqual(google.Decoded(), c.Message) {
			t.Errorf("%s: google reads %+v from nova's bytes", c.Name, google.Decoded())
		}
	}
}

// The allocations that the project promises.
func TestAllocations(t *testing.T) {
	for _, c := range codecs.Cases() {
		nova := c.Codecs[0]
		data, buf := nova.Encode(nil)
		data = append([]byte(nil), data...)
		if n := testing.AllocsPerRun(100, func() { _, buf = nova.Encode(buf) }); n != 0 {
			t.Errorf("%s: encoding allocates %v times, want 0", c.Name, n)
		}
		decode := testing.AllocsPerRun(100, func() { _ = nova.Decode(data) })
		if c.Name == "quote" && decode != 1 {
			t.Errorf("%s: decoding allocates %v times, want 1 (the string)", c.Name, decode)
		}
	}
}

func BenchmarkCodecEncode(b *testing.B) {
	for _, c := range codecs.Cases() {
		for _, codec := range c.Codecs {
			b.Run(c.Name+"/"+codec.Name, func(b *testing.B) {
				data, buf := codec.Encode(nil)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					_, buf = codec.Encode(buf)
				}
			})
		}
	}
}

func BenchmarkCodecDecode(b *testing.B) {
	for _, c := range codecs.Cases() {
		for _, codec := range c.Codecs {
			if codec.Name == "flatbuffers-fresh" {
				continue // decodes as flatbuffers-reused
			}
			b.Run(c.Name+"/"+codec.Name, func(b *testing.B) {
				data, _ := codec.Encode(nil)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := codec.Decode(data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
