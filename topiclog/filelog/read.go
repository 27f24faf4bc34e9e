package filelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ignex/nova/topiclog"
)

// Range implements topiclog.Log. A page also ends at 4 MiB of frames. A frame
// that turns out to be damaged on the disk raises lost to its offset; the page
// holds what lies behind it.
func (l *Log) Range(ctx context.Context, name, epoch string, after uint64, limit int) ([]topiclog.Entry, uint64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		places, lost, err := l.acquire(name, epoch, after, limit)
		if err != nil {
			return nil, 0, err
		}
		entries, bad, err := readPlaces(places)
		l.release(places)
		if err == nil {
			for i := range entries {
				entries[i].Topic, entries[i].Epoch = name, epoch
			}
			return entries, lost, nil
		}
		if _, damaged := errors.AsType[*DamageError](err); !damaged {
			return nil, 0, fmt.Errorf("filelog: range in %s: %w", l.dir, err)
		}
		l.options.Logger.Error("filelog: a frame is damaged", "topic", name, "offset", bad, "error", err)
		l.abandon(name, epoch, bad)
	}
}

// acquire finds frames and keeps their segments open until release.
func (l *Log) acquire(name, epoch string, after uint64, limit int) ([]place, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, 0, topiclog.ErrClosed
	}
	t := l.topics[name]
	if t == nil || !t.defined || t.epoch != epoch {
		return nil, 0, topiclog.ErrEpoch
	}
	places := t.places(after, max(limit, 0))
	var last *segment
	for _, p := range places {
		if p.segment != last {
			p.segment.readers++
			last = p.segment
		}
	}
	return places, t.lost, nil
}

func (l *Log) release(places []place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var last *segment
	for _, p := range places {
		if p.segment != last {
			last = p.segment
			last.readers--
			if last.gone && last.readers == 0 {
				l.closeFile(last)
			}
		}
	}
}

// abandon gives up the frames up to offset.
func (l *Log) abandon(name, epoch string, offset uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[name]; t != nil && t.epoch == epoch {
		l.frames -= t.dropThrough(offset)
		l.stats.Damaged++
	}
}

// readPlaces reads the frames, many with one call where they lie close together.
// With an error it returns the offset of the frame it is about.
func readPlaces(places []place) (entries []topiclog.Entry, bad uint64, err error) {
	entries = make([]topiclog.Entry, 0, len(places))
	var room []byte // of one read after the other; frames are copied out of it
	total := 0
	for i := 0; i < len(places); {
		n, last := run(places[i:])
		if int64(cap(room)) < last {
			room = make([]byte, last)
		}
		buf := room[:last]
		start := places[i].at
		m, err := places[i].segment.file.ReadAt(buf, start)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, places[i].offset, err
		}
		buf = buf[:m]
		for _, p := range places[i : i+n] {
			if total >= pageBytes {
				return entries, 0, nil
			}
			e, err := readRecord(p, buf[min(int(p.at-start), m):])
			if err != nil {
				return nil, p.offset, err
			}
			total += len(e.Frame)
			entries = append(entries, e)
		}
		i += n
	}
	return entries, 0, nil
}

// run returns how many places are worth one read, and its length.
func run(places []place) (n int, length int64) {
	const (
		gap   = 8 << 10   // bytes of others between two frames
		most  = 256 << 10 // of one read
		guess = 512       // for the last frame, whose length is not known
	)
	n = 1
	for n < len(places) && places[n].segment == places[0].segment &&
		places[n].at-places[n-1].at <= gap && places[n].at-places[0].at <= most {
		n++
	}
	return n, places[n-1].at - places[0].at + guess
}

// readRecord parses the record at p from b, or from the file when b ends too soon.
func readRecord(p place, b []byte) (topiclog.Entry, error) {
	r, n, err := parse(b)
	for tries := 0; errors.Is(err, errShort) && tries < 2; tries++ { // the head, then the body
		b = make([]byte, n)
		m, failed := p.segment.file.ReadAt(b, p.at)
		if failed != nil && !errors.Is(failed, io.EOF) {
			return topiclog.Entry{}, failed
		}
		r, n, err = parse(b[:m])
	}
	if err == nil && (r.kind != kindFrame || r.offset != p.offset) {
		err = errors.New("another record stands there")
	}
	if err != nil {
		return topiclog.Entry{}, &DamageError{File: p.segment.name, Offset: p.at, Cause: err}
	}
	return topiclog.Entry{Offset: r.offset, ID: string(r.id), Except: string(r.except), Frame: slices.Clone(r.frame)}, nil
}
