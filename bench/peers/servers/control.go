package servers

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"
)

// The control protocol: the load client sends commands of commandSize bytes, an
// operation and a number, little-endian. Publish has no answer; the others
// answer with 8 bytes.
const (
	OpPublish   = 'P' // the number is the time stamp that the payload carries
	OpCount     = 'C' // answer: inbound messages handled so far
	OpCollect   = 'G' // collect garbage and give memory back; answer 0
	commandSize = 9
)

// Backend is what a server program does for the control connection.
type Backend struct {
	// Publish sends one payload for each stamp to every subscriber.
	Publish func(stamps []int64)
	// Count returns the inbound messages handled; nil without any.
	Count func() uint64
}

// Options are those of every server program.
type Options struct {
	Size       int           // payload bytes, at least 16
	WriteDelay time.Duration // centrifuge
	Plain      bool          // nova: sessions and history off
	Send       bool          // nova: without io_uring
	History    int           // nova: frames a topic keeps, 0 = its default
	TLS        bool          // nova
	Raw        bool          // nova: inbound frames are not decoded
	Text       bool          // nova: the payload is JSON, as that of gorilla-deflate
	Deflate    int           // nova: level of compression, 0 = off
}

// payload is the application data of the peers without a codec: the stamp, then
// filling.
func (o *Options) payload(stamp int64) []byte {
	b := make([]byte, max(o.Size, 16))
	binary.LittleEndian.PutUint64(b, uint64(stamp))
	for i := 8; i < len(b); i++ {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// serveControl announces the server and follows the one control connection until
// it ends.
func serveControl(data net.Addr, b Backend) error {
	ln, err := listen()
	if err != nil {
		return err
	}
	defer ln.Close()
	fmt.Fprintf(os.Stdout, "ready %d %d\n", data.(*net.TCPAddr).Port, ln.Addr().(*net.TCPAddr).Port)
	conn, err := ln.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	return follow(conn, b)
}

func follow(conn net.Conn, b Backend) error {
	buf := make([]byte, 128*commandSize)
	stamps := make([]int64, 0, 128)
	have := 0
	for {
		n, err := conn.Read(buf[have:])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		have += n
		at := 0
		for ; have-at >= commandSize; at += commandSize {
			number := int64(binary.LittleEndian.Uint64(buf[at+1:]))
			if buf[at] == OpPublish {
				stamps = append(stamps, number)
				continue
			}
			if stamps = flush(b, stamps); !answer(conn, buf[at], b) {
				return fmt.Errorf("control: operation %q is unknown", buf[at])
			}
		}
		stamps = flush(b, stamps)
		have = copy(buf, buf[at:have])
	}
}

func flush(b Backend, stamps []int64) []int64 {
	if len(stamps) > 0 {
		b.Publish(stamps)
	}
	return stamps[:0]
}

func answer(w io.Writer, op byte, b Backend) bool {
	var number uint64
	switch op {
	case OpCount:
		if b.Count != nil {
			number = b.Count()
		}
	case OpCollect:
		debug.FreeOSMemory()
	default:
		return false
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, number))
	return err == nil
}
