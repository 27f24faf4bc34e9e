package client

import (
	"errors"

	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/wire"
)

// capBatch is the capability of several frames in one message.
const capBatch = "batch/1"

// maxBatch is the most bytes of a message of several frames.
const maxBatch = 16 << 10

// minDeflate is the size from which on messages are compressed.
const minDeflate = 512

// shape is what messages to the server may be.
type shape struct {
	joined  bool         // of several frames
	deflate *ws.Deflater // compressed; nil = not
}

// shaped says what messages to the server may be, until the socket ends.
func (q *queue) shaped(s shape) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shape = s
}

// caps returns the capabilities that the client asks for. Who takes only short
// messages cannot take those of several frames.
func (s *socket) caps() []string {
	caps := []string{capSession, capTopics}
	if s.c.options.MaxMessageSize >= maxBatch {
		caps = append(caps, capBatch)
	}
	caps = append(caps, capCalls)
	if s.c.options.Token != nil {
		caps = append(caps, capAuth)
	}
	return caps
}

// giveAll adds frames to a batch, in as few messages as may be.
func (q *queue) giveAll(batch []byte, items []item, list []item) ([]byte, []item) {
	most := maxBatch
	if q.largest > 0 {
		most = min(most, q.largest)
	}
	for len(list) > 0 {
		n, size := 1, len(list[0].frame)
		for q.shape.joined && n < len(list) && size+len(list[n].frame) <= most {
			size += len(list[n].frame)
			n++
		}
		batch, items = q.give(batch, items, list[:n], size)
		list = list[n:]
	}
	return batch, items
}

// give adds one message of frames that have size bytes together.
func (q *queue) give(batch []byte, items []item, list []item, size int) ([]byte, []item) {
	first := len(items)
	for _, it := range list {
		items = append(items, q.number(it))
	}
	mine, before, key := items[first:], len(batch), newKey()
	if q.shape.deflate != nil && size >= minDeflate {
		if packed := q.shape.deflate.Deflate(join(mine)); len(packed) < size {
			batch = ws.AppendMaskedCompressed(batch, ws.Binary, packed, key)
			// Which of them the socket took cannot be told apart: it has the last or none.
			mine[len(mine)-1].size = len(batch) - before
			return batch, items
		}
	}
	batch = ws.AppendMaskedHeader(batch, ws.Binary, size, key)
	at := len(batch)
	for i := range mine {
		batch = append(batch, mine[i].frame...)
		mine[i].size = len(batch) - before
		before = len(batch)
	}
	ws.Mask(batch[at:], key, 0)
	return batch, items
}

func join(list []item) []byte {
	if len(list) == 1 {
		return list[0].frame
	}
	var b []byte
	for i := range list {
		b = append(b, list[i].frame...)
	}
	return b
}

// number makes an item one that is given to a socket.
func (q *queue) number(it item) item {
	if it.id == 0 {
		q.controls--
		return it
	}
	if q.numbered && it.seq == 0 && !it.base() {
		q.given++
		it.seq = q.given
	}
	if it.call != nil {
		it.call.sent = true
	}
	stamp(it.frame, it.seq)
	if it.seq != 0 {
		kept := it
		kept.tried = true
		q.kept = append(q.kept, kept)
	}
	return it
}

// errUndecodable says that the envelope of a frame was reported as undecodable.
var errUndecodable = errors.New("undecodable frame")

// frames takes a message of one frame, or with batch/1 of several. Behind an
// undecodable envelope nothing is sure to be a frame: the rest is dropped.
func (s *socket) frames(message []byte) error {
	for !s.c.isClosing() {
		data := message
		if message = nil; s.joined {
			data, message = wire.Split(data)
		}
		switch err := s.frame(data); {
		case err == errUndecodable:
			return nil
		case err != nil || len(message) == 0:
			return err
		}
	}
	return nil
}
