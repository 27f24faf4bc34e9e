package filelog

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/ignex/nova/topiclog"
)

// Log is a topiclog.Log in a directory. Its methods may be called from any
// goroutine. Two goroutines belong to it, from Open to Close: the loop, which
// alone writes, and the syncer, which calls fsync beside it.
type Log struct {
	dir     string
	options Options
	lock    io.Closer

	mu          sync.Mutex
	closed      bool
	topics      map[string]*topic
	lastTopic   uint64
	ids         *ids
	frames      int
	segments    []*segment // oldest first; the last is active
	active      *segment
	staged      *batch
	spareBuf    []byte
	spareFrames []staged
	tails       map[*tail]struct{}
	stats       Stats

	wake    chan struct{} // one token: a batch is staged
	closing chan struct{}
	ended   chan struct{} // the loop has ended
	work    sync.WaitGroup
	failed  error // of the loop's last work; read after ended

	// Of the loop alone.
	doomed    []*segment // to be deleted, oldest first
	limit     int64      // size at which the active segment ends
	synced    int64      // the active segment up to here is on the disk
	mustRoll  bool
	dirtyTail bool // bytes behind size could not be cut off
	cutDirty  bool // bytes were cut off, which is not synced yet: the disk may still have them
	badSync   bool // an fsync failed: what is not synced must be written again
	timerOn   bool // syncTimer counts to the next interval
	syncing   bool // the syncer is at work
	syncMark  int64
	toSync    chan file
	syncDone  chan error
	syncTimer *time.Timer
}

var (
	_ topiclog.Log     = (*Log)(nil)
	_ topiclog.Batcher = (*Log)(nil)
	_ topiclog.Syncer  = (*Log)(nil)
)

// Stats are counters since Open and the present size.
type Stats struct {
	Topics   int
	Frames   int
	Segments int
	Bytes    int64
	Writes   uint64 // batches
	Syncs    uint64
	Failures uint64 // batches that were refused because of the file system
	Damaged  uint64 // frames that could not be read back
}

// Stats returns them. Zero after Close.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Stats{}
	}
	s := l.stats
	s.Topics, s.Frames, s.Segments = len(l.topics), l.frames, len(l.segments)
	for _, seg := range l.segments {
		s.Bytes += seg.size
	}
	return s
}

// Head implements topiclog.Log. After an unclean end head is the start of the
// next block of offsets, although no entry has it.
func (l *Log) Head(ctx context.Context, name string) (epoch string, lost, head uint64, err error) {
	if err := ctx.Err(); err != nil {
		return "", 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return "", 0, 0, topiclog.ErrClosed
	}
	if t := l.topics[name]; t != nil && t.defined {
		return t.epoch, t.lost, t.head, nil
	}
	return "", 0, 0, nil
}

// Close writes and syncs what was appended, ends the tails and lets go of the
// directory. An error means that the end was not clean: the next Open goes on at
// a new block of offsets. Calling Close again returns topiclog.ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return topiclog.ErrClosed
	}
	l.closed = true
	l.mu.Unlock()
	close(l.closing)
	l.work.Wait()
	return l.failed
}
