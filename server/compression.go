package server

import (
	"fmt"
	"net/http"

	"github.com/gobwas/httphead"
	"github.com/gobwas/ws/wsflate"
)

// Compression is permessage-deflate (RFC 7692) for the clients that offer it, as
// browsers do. The payload of an event is compressed once and shared by all its
// receivers; no window is kept between messages, so a connection needs no memory for
// it. Events that say compress: false in their schema, and what would not become
// shorter, go as they are.
type Compression struct {
	Level   int // 1, fastest, to 9; default 0 = off. Of several servers of one hub the first decides
	MinSize int // bytes of a frame, shorter ones are not compressed; default 512, negative = none is too short
}

func (c *Compression) setDefaults() error {
	if c.Level < 0 || c.Level > 9 {
		return fmt.Errorf("server: Options.Compression.Level is %d; it must be 1 to 9, or 0 for no compression", c.Level)
	}
	if c.MinSize == 0 {
		c.MinSize = 512
	}
	return nil
}

// agree returns the answer to the first offer of compression that can be taken, ""
// = none. An offer that wants the server to use a window below 32 KiB cannot:
// what is shared by all is compressed with the whole one.
func (c *Compression) agree(r *http.Request) string {
	if c.Level == 0 {
		return ""
	}
	for _, line := range r.Header.Values("Sec-WebSocket-Extensions") {
		offers, ok := httphead.ParseOptions([]byte(line), nil)
		if !ok {
			return ""
		}
		for _, offer := range offers {
			var p wsflate.Parameters
			if string(offer.Name) != wsflate.ExtensionName || p.Parse(offer) != nil {
				continue
			}
			const answer = wsflate.ExtensionName + "; server_no_context_takeover; client_no_context_takeover"
			switch bits := p.ServerMaxWindowBits; {
			case !bits.Defined():
				return answer
			case bits == 15:
				return answer + "; server_max_window_bits=15"
			}
		}
	}
	return ""
}
