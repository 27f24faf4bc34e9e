package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ignex/nova/wire"
)

// Bounds of one request.
const (
	batchLines = 512
	batchBytes = 256 << 10
)

// publishing sends lines in batches and keeps the count.
type publishing struct {
	*pubOptions
	layout *wire.Layout
	event  *wire.Event
	source string // shown before line numbers
	stderr io.Writer
	bar    *progressbar.ProgressBar

	published, skipped, members int
	took                        time.Duration
	scratch                     []byte
}

// numbered is one line of input.
type numbered struct {
	line int // from 1, 0 = the only value
	text []byte
	err  error // why the line cannot be used, or io.EOF
}

// lineSource yields lines; after one with io.EOF or a fatal error there are none.
type lineSource interface {
	next() numbered
}

// all publishes every line. A batch goes out when it is full, or when no more
// lines are waiting, so that a slow pipe is published as it flows.
func (p *publishing) all(ctx context.Context, source lineSource) error {
	ctx, cancel := context.WithCancel(ctx)
	lines := make(chan numbered, batchLines)
	// Ends with the source, or at its next line after cancel: a read of standard
	// input cannot be interrupted, and need not be, as the process ends.
	go func() {
		defer close(lines)
		for {
			n := source.next()
			select {
			case lines <- n:
			case <-ctx.Done():
				return
			}
			if n.err != nil && !errors.Is(n.err, errBadLine) {
				return
			}
		}
	}()
	defer cancel()
	var batch []numbered
	size := 0
	for {
		var n numbered
		select {
		case n = <-lines:
		case <-ctx.Done():
			return errInterrupted
		}
		bad := p.check(&n)
		switch {
		case n.err != nil && !errors.Is(n.err, errBadLine): // the end
			if err := p.send(ctx, batch); err != nil {
				return err
			}
			return bad
		case bad != nil:
			if err := p.flushAndSkip(ctx, &batch, bad); err != nil {
				return err
			}
			size = 0
		case n.text != nil:
			batch = append(batch, n)
			size += len(n.text)
		}
		if len(batch) >= batchLines || size >= batchBytes || len(lines) == 0 {
			if err := p.send(ctx, batch); err != nil {
				return err
			}
			batch, size = batch[:0], 0
		}
	}
}

// errBadLine marks a line that cannot be used while those after it can.
var errBadLine = errors.New("bad line")

// check returns why a line cannot be published. Blank lines lose their text.
func (p *publishing) check(n *numbered) error {
	if n.err != nil {
		if errors.Is(n.err, io.EOF) {
			return nil
		}
		return p.badLine(*n, n.err.Error())
	}
	if len(bytes.TrimSpace(n.text)) == 0 {
		n.text = nil
		return nil
	}
	out, err := p.layout.EncodeJSON(p.scratch[:0], p.event.Table, n.text)
	if err != nil {
		return p.badLine(*n, err.Error())
	}
	p.scratch = out
	return nil
}

// badLine names the place of an error in the input.
func (p *publishing) badLine(n numbered, message string) error {
	if n.line == 0 {
		return fmt.Errorf("%s: %s", p.source, message)
	}
	return fmt.Errorf("%s:%d: %s", p.source, n.line, message)
}

// flushAndSkip publishes what came before a bad line and reports the line, or
// fails with it.
func (p *publishing) flushAndSkip(ctx context.Context, batch *[]numbered, bad error) error {
	if err := p.send(ctx, *batch); err != nil {
		return err
	}
	*batch = (*batch)[:0]
	return p.skip(bad)
}

func (p *publishing) skip(bad error) error {
	if !p.skipBad {
		if p.published > 0 {
			return fmt.Errorf("%w (the %d before it are published; --skip-bad goes on)", bad, p.published)
		}
		return bad
	}
	p.skipped++
	if p.bar != nil {
		_ = p.bar.Clear() // only draws
	}
	fmt.Fprintf(p.stderr, "skipped %s\n", bad)
	return nil
}

// send posts one batch and reads one answer a line.
func (p *publishing) send(ctx context.Context, batch []numbered) error {
	if len(batch) == 0 {
		return nil
	}
	var body bytes.Buffer
	target, err := json.Marshal(p.target)
	if err != nil {
		return fmt.Errorf("write target: %w", err)
	}
	for _, n := range batch {
		fmt.Fprintf(&body, `{"event":%q,"target":%s,"data":`, p.event.Name, target)
		body.Write(n.text)
		body.WriteString("}\n")
	}
	resp, err := p.server.do(ctx, http.MethodPost, "/api/publish", "application/x-ndjson", &body)
	if err != nil {
		return waitDone(ctx, err)
	}
	defer resp.Body.Close()
	answers := bufio.NewScanner(resp.Body)
	answers.Buffer(nil, 1<<20)
	if resp.StatusCode != http.StatusOK {
		return p.refused(resp.Status, answers)
	}
	for _, n := range batch {
		if !answers.Scan() {
			return waitDone(ctx, fmt.Errorf("%s answered fewer lines than it was sent (%w)", p.server.url, cause(answers.Err(), io.ErrUnexpectedEOF)))
		}
		var a struct {
			Members                int
			Code, Message, Pointer string
		}
		if err := json.Unmarshal(answers.Bytes(), &a); err != nil {
			// A broken connection leaves half a line.
			return waitDone(ctx, fmt.Errorf("%s answered %.60q, which is no result (%w)", p.server.url, answers.Bytes(), cause(answers.Err(), err)))
		}
		if a.Code == "" {
			p.published++
			p.members = a.Members
			continue
		}
		if err := p.skip(p.badLine(n, "the server refuses it: "+joinNonEmpty(a.Pointer, a.Message)+" ("+a.Code+")")); err != nil {
			return err
		}
	}
	return nil
}

// cause returns the first error that is one.
func cause(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// refused reports an answer that is about the whole request.
func (p *publishing) refused(status string, body *bufio.Scanner) error {
	var a struct{ Message string }
	if body.Scan() && json.Unmarshal(body.Bytes(), &a) == nil && a.Message != "" {
		return fmt.Errorf("%s/api/publish answered %s: %s", p.server.url, status, a.Message)
	}
	return fmt.Errorf("%s/api/publish answered %s; is this a nova server?", p.server.url, status)
}

func joinNonEmpty(pointer, message string) string {
	if pointer == "" {
		return message
	}
	return pointer + ": " + message
}
