package server

import (
	"errors"

	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/wire"
)

// capBatch is the capability of several frames in one message.
const capBatch = "batch/1"

// maxBatch is the most bytes of a message of several frames.
const maxBatch = 16 << 10

// errUndecodable says that a frame was counted as undecodable.
var errUndecodable = errors.New("undecodable frame")

// offersBatch reports whether clients may send several frames in a message.
// Without session/1 they are not told a limit below that of such messages.
func offersBatch(h *hub.Hub, o *Options) bool {
	return h.Sessions() || o.MaxMessageSize >= maxBatch
}

// batch takes a message of one frame or several. Behind an undecodable one nothing
// is sure to be a frame: the rest is discarded, and it counts once.
func (c *conn) batch(message []byte) error {
	for joined := false; ; joined = true {
		var data []byte
		data, message = wire.Split(message)
		switch err := c.frame(data, joined); {
		case err == errUndecodable:
			return nil
		case err != nil:
			return err
		case len(message) == 0 || c.closing.Load():
			return nil
		}
	}
}
