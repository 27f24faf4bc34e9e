package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// checkFeed reads a whole file against the schema, so that a bad line is known
// before the server starts.
func checkFeed(path string, layout *wire.Layout, event *wire.Event) error {
	var scratch []byte
	return eachLine(path, layout, event, func(line int, text []byte) error {
		out, err := layout.EncodeJSON(scratch[:0], event.Table, text)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
		scratch = out
		return nil
	})
}

// eachLine calls fn for each line of a feed that is not blank.
func eachLine(path string, layout *wire.Layout, event *wire.Event, fn func(line int, text []byte) error) error {
	file, err := openFile(path, "--feed")
	if err != nil {
		return err
	}
	defer file.Close()
	lines, err := newFileLines(path, file, layout, event)
	if err != nil {
		return err
	}
	for {
		n := lines.next()
		switch {
		case errors.Is(n.err, io.EOF):
			return nil
		case n.err != nil:
			return fmt.Errorf("%s:%d: %w", path, n.line, n.err)
		case len(n.text) == 0:
			continue
		}
		if err := fn(n.line, n.text); err != nil {
			return err
		}
	}
}

// timeField returns the property that says in milliseconds when an event was.
func timeField(table *wire.Table) string {
	for _, name := range []string{"time", "ts"} {
		for _, f := range table.Fields {
			if f.JSON == name && f.Kind == wire.Int64 && !f.Vector && !f.Deprecated {
				return name
			}
		}
	}
	return ""
}

// replay publishes the file, again and again with --loop.
func (d *demo) replay(ctx context.Context) error {
	for {
		started := time.Now()
		n, err := d.replayOnce(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.stdout, "%s of %s published in %.1f s\n", count(n, "event"), d.feed, time.Since(started).Seconds())
		if !d.loop {
			return nil
		}
		// An empty or very short file must not keep a core busy.
		if err := sleepUntil(ctx, started.Add(time.Second)); err != nil {
			return nil
		}
	}
}

func (d *demo) replayOnce(ctx context.Context) (published int, err error) {
	layout := d.schema.Layout()
	clock := &feedClock{speed: d.speed, rate: d.rate, started: time.Now()}
	if !d.rateSet {
		clock.field = timeField(&layout.Tables[d.event.Table])
	}
	var frame []byte
	err = eachLine(d.feed, layout, d.event, func(line int, text []byte) error {
		if err := sleepUntil(ctx, clock.due(published, text)); err != nil {
			return err
		}
		frame, err = layout.AppendFrameJSON(frame[:0], d.event, text)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", d.feed, line, err)
		}
		_, err = d.hub.PublishFrame(ctx, nova.Publication{Event: d.event, Target: nova.Topic(d.topic), Frame: frame,
			Unsafe: layout.CheckInt64(d.event.Table, frame[wire.HeaderLen:])})
		if err != nil {
			return fmt.Errorf("%s:%d: %w", d.feed, line, err)
		}
		published++
		return nil
	})
	return published, err
}

// feedClock says when each event of a file is due: by the event's own time, or
// evenly when it has none.
type feedClock struct {
	field   string
	speed   float64 // 0 = at once
	rate    float64 // events a second without a field; 0 = at once
	started time.Time
	first   int64
	known   bool
}

func (c *feedClock) due(n int, text []byte) time.Time {
	if c.field == "" {
		if c.rate == 0 {
			return c.started
		}
		return c.started.Add(time.Duration(float64(n) / c.rate * float64(time.Second)))
	}
	if c.speed == 0 {
		return c.started
	}
	at, ok := millis(text, c.field)
	if !ok {
		return c.started
	}
	if !c.known {
		c.first, c.known = at, true
	}
	// Times before the first come at once; beyond a year nobody waits.
	ahead := float64(at-c.first) / c.speed * float64(time.Millisecond)
	return c.started.Add(time.Duration(min(max(ahead, 0), float64(365*24*time.Hour))))
}

// millis reads one number of a JSON object.
func millis(text []byte, property string) (int64, bool) {
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(values[property]), 64)
	return int64(v), err == nil && v > -1e15 && v < 1e15
}

// sleepUntil waits; it returns the error of ctx when that ends first.
func sleepUntil(ctx context.Context, at time.Time) error {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
