package servers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/ignex/nova"
	"github.com/ignex/nova/bench/peers/internal/note"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
)

// Topic is what every subscriber listens to; Group is the group that connections
// of the memory workload join.
const (
	Topic = "t"
	Group = "g"
)

// runNova has the defaults of hub and server, except for the rate of upgrades,
// which would only lengthen each sample.
func runNova(o Options) error {
	options := hub.Options{Schema: note.Schema, History: hub.History{Size: o.History}}
	if o.Plain {
		options.Session.Off, options.History.Size = true, -1
	}
	h, err := hub.New(options)
	if err != nil {
		return err
	}
	var count atomic.Uint64
	if err := handleMoves(h, o.Raw, &count); err != nil {
		return err
	}
	s, err := server.New(h, server.Options{AcceptRate: -1, NoURing: o.Send, Compression: server.Compression{Level: o.Deflate}})
	if err != nil {
		return err
	}
	ln, err := listen()
	if err != nil {
		return err
	}
	addr := ln.Addr()
	if o.TLS {
		cert, err := certificate()
		if err != nil {
			return err
		}
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}})
	}
	go http.Serve(ln, s)
	m := note.Note{}
	if err := fit(&m, o.Size); err != nil {
		return err
	}
	ctx := context.Background()
	publish := func(stamps []int64) {
		for _, stamp := range stamps {
			m.Stamp = stamp
			if o.Text {
				m.Body = text(o.Size, stamp)
			}
			if err := note.NoteEvent.Publish(ctx, h, nova.Topic(Topic), &m); err != nil {
				fmt.Fprintln(os.Stderr, "nova: publish:", err)
			}
		}
	}
	return serveControl(addr, Backend{Publish: publish, Count: count.Load})
}

func handleMoves(h *hub.Hub, raw bool, count *atomic.Uint64) error {
	if raw {
		_, err := h.HandleFrame(note.MoveEvent.Info(), func(context.Context, *nova.Client, []byte) error {
			count.Add(1)
			return nil
		})
		return err
	}
	note.MoveEvent.On(h, func(_ context.Context, _ *nova.Client, _ *note.Move) error {
		count.Add(1)
		return nil
	})
	return nil
}

// fit makes the FlatBuffer of m size bytes long, or as near as its alignment
// allows.
func fit(m *note.Note, size int) error {
	for n := size; n >= 0; n-- {
		m.Body = make([]byte, n)
		b, err := m.AppendNova(nil)
		if err != nil {
			return err
		}
		if len(b) <= size {
			return nil
		}
	}
	return fmt.Errorf("nova: a payload of %d bytes is too small", size)
}
