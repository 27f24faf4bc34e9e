package client

import (
	"fmt"

	"github.com/gobwas/httphead"
	"github.com/gobwas/ws/wsflate"

	"github.com/ignex/nova/internal/ws"
)

// deflateLevel is that of what clients send: the fastest, as messages are few and small.
const deflateLevel = 1

// offers returns the extensions to ask for.
func (c *Conn) offers() []httphead.Option {
	if !c.options.Compression {
		return nil
	}
	return []httphead.Option{wsflate.Parameters{ServerNoContextTakeover: true, ClientNoContextTakeover: true}.Option()}
}

// agreed judges the extensions of the server's answer, which can only be what was
// offered: the dialer has refused others. nil: there is no compression.
func (c *Conn) agreed(extensions []httphead.Option) (*ws.Deflater, error) {
	if len(extensions) == 0 {
		return nil, nil
	}
	var p wsflate.Parameters
	if err := p.Parse(extensions[0]); err != nil {
		return nil, fmt.Errorf("the server's answer about compression: %w", err)
	}
	if bits := p.ClientMaxWindowBits; len(extensions) > 1 || !p.ServerNoContextTakeover || bits.Defined() && bits < 15 {
		return nil, fmt.Errorf("the server agreed to a compression that was not offered: %v", extensions)
	}
	return ws.NewDeflater(deflateLevel)
}
