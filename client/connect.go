package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	gobwas "github.com/gobwas/ws"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
)

// run holds the connection until it is closed or an ending forbids another
// attempt. It is the goroutine that reads, too.
func (c *Conn) run() {
	defer close(c.done)
	defer c.helpers.Wait()
	defer c.answers.wg.Wait()
	defer func() { // after an ending of the server's these have its cause
		c.first(errClosed)
		c.queue.end(errClosed)
	}()
	retry := retry{Reconnect: c.options.Reconnect, hasToken: c.options.Token != nil}
	fetch := false
	for {
		pause := c.park()
		if pause == nil {
			c.setStatus(Status{State: Closed})
			return
		}
		end := c.attempt(fetch, pause)
		if c.isClosing() {
			c.setStatus(Status{State: Closed})
			return
		}
		if pause.on() {
			c.setStatus(Status{State: Idle})
			continue
		}
		d := retry.next(end, rand.Float64())
		fetch = retry.hasToken && d.token
		if d.stop != nil {
			c.end(d.stop)
			return
		}
		failed := nova.Errorf(nova.Unavailable, "connect to %s: %w", c.url, end.err)
		c.setStatus(Status{State: Reconnecting, Err: failed})
		c.report(failed)
		c.first(failed)
		timer := time.NewTimer(d.wait)
		select {
		case <-timer.C:
		case <-pause.begun:
			timer.Stop()
		case <-c.closing:
			timer.Stop()
			c.setStatus(Status{State: Closed})
			return
		}
	}
}

// end closes the connection for a cause other than Close.
func (c *Conn) end(cause error) {
	c.setStatus(Status{State: Closed, Err: cause})
	c.first(cause)
	lost := c.queue.end(cause)
	c.endSubscriptions(cause)
	c.report(cause)
	c.reportLost(lost)
}

// first tells Connect the outcome of the first attempt, or of the first after a
// pause.
func (c *Conn) first(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried.set(err)
}

func (c *Conn) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// attempt makes one socket and serves it to its end.
func (c *Conn) attempt(fetch bool, p *pause) ending {
	ctx, cancel := context.WithTimeout(c.ctx, c.options.HandshakeTimeout)
	defer cancel()
	c.mu.Lock()
	c.abort = cancel
	if p.on() {
		cancel()
	}
	c.mu.Unlock()
	if fetch || c.needsToken() {
		if _, err := c.refreshToken(ctx); err != nil {
			// Not an ending of the server's: it counts as a lost connection.
			return ending{code: ws.CodeAbnormal, framed: true, err: fmt.Errorf("get token: %w", err)}
		}
	}
	conn, behind, deflate, end := c.dial(ctx)
	if end.err != nil {
		return end
	}
	return c.serve(conn, behind, p, deflate)
}

// dial opens a socket and makes the handshake. behind are the bytes that came
// with the server's answer; deflate is set when compression was agreed on.
func (c *Conn) dial(ctx context.Context) (conn net.Conn, behind []byte, deflate *ws.Deflater, end ending) {
	header := c.options.Header.Clone()
	c.mu.Lock()
	token := c.bearer.token
	c.mu.Unlock()
	if token != "" && !c.options.TokenInBand {
		if header == nil {
			header = http.Header{}
		}
		header.Set("Authorization", "Bearer "+token)
	}
	end = ending{code: ws.CodeAbnormal}
	var refusal string
	dialer := gobwas.Dialer{
		Header:     gobwas.HandshakeHeaderHTTP(header),
		NetDial:    c.options.NetDial,
		TLSConfig:  c.options.TLS,
		Extensions: c.offers(),
		OnStatusError: func(status int, reason []byte, response io.Reader) {
			end.code, end.status = 0, status
			refusal, end.after = readRefusal(response)
		},
	}
	conn, reader, shook, err := dialer.Dial(ctx, c.url)
	if err == nil {
		if deflate, err = c.agreed(shook.Extensions); err != nil {
			conn.Close()
		}
	}
	if err != nil {
		if end.status != 0 {
			err = fmt.Errorf("the server answered %d %s", end.status, strings.TrimSpace(http.StatusText(end.status)+" "+refusal))
		} else if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("no answer in %v: %w", c.options.HandshakeTimeout, err)
		}
		end.err = err
		return nil, nil, nil, end
	}
	if reader != nil {
		buffered, _ := reader.Peek(reader.Buffered()) // cannot fail: it asks for what is there
		behind = append(behind, buffered...)
		gobwas.PutReader(reader)
	}
	return conn, behind, deflate, ending{}
}

// readRefusal returns the start of the body of an HTTP refusal and how long it
// asks to wait.
func readRefusal(response io.Reader) (text string, after time.Duration) {
	resp, err := http.ReadResponse(bufio.NewReader(response), nil)
	if err != nil {
		return "", 0
	}
	defer resp.Body.Close()
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		after = min(time.Duration(seconds)*time.Second, maxAfter)
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // what there is will do
	if line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n"); line != "" {
		text = "(" + line + ")"
	}
	return text, after
}

// outcome is what Connect waits for.
type outcome struct {
	done chan struct{}
	err  error
}

func newOutcome() *outcome { return &outcome{done: make(chan struct{})} }

// set gives the outcome, unless there is one. Conn.mu is held.
func (o *outcome) set(err error) {
	select {
	case <-o.done:
	default:
		o.err = err
		close(o.done)
	}
}
