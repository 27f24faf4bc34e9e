package hub

import (
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// packing says which frames are compressed for the sockets that take it; nil: none.
type packing struct {
	with    *ws.Deflater
	minSize int
}

// CompressWith has the frames of events compressed, once for all sockets that take
// it, at a level from 1 to 9, unless they are shorter than minSize bytes or their
// event says compress: false. A server calls it; of several the first holds. What
// was published before goes as it is. A level that does not exist is an error.
func (h *Hub) CompressWith(level, minSize int) error {
	with, err := ws.NewDeflater(level)
	if err != nil {
		return err
	}
	h.packing.CompareAndSwap(nil, &packing{with: with, minSize: minSize})
	return nil
}

// frame copies a wire frame for the queues of sessions.
func (p *packing) frame(event *wire.Event, frame []byte) session.Frame {
	f := session.NewFrame(event, frame)
	if p != nil && event.Compress && len(frame) >= p.minSize {
		f.Pack(p.with)
	}
	return f
}
