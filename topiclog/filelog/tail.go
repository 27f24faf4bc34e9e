package filelog

import (
	"context"
	"sync"

	"github.com/ignex/nova/topiclog"
)

// tailBatches is how many batches a tail may be behind before appends wait.
const tailBatches = 64

// tail is one call of Tail: a queue between the loop and it.
type tail struct {
	mu    sync.Mutex
	queue [][]topiclog.Entry
	more  chan struct{} // one token: the queue has grown
	room  chan struct{} // one token: the queue has shrunk
	done  <-chan struct{}
}

// push waits for room, unless the tail ends or the log closes. Before it waits it calls
// idle.
func (t *tail) push(entries []topiclog.Entry, closing <-chan struct{}, idle func()) {
	for {
		t.mu.Lock()
		full := len(t.queue) >= tailBatches
		if full {
			select {
			case <-closing:
				full = false // the rest is handed over, however slow the reader
			default:
			}
		}
		if !full {
			t.queue = append(t.queue, entries)
		}
		t.mu.Unlock()
		if !full {
			token(t.more)
			return
		}
		idle()
		select {
		case <-t.room:
		case <-closing:
		case <-t.done:
			return
		}
	}
}

func (t *tail) pop() []topiclog.Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil
	}
	entries := t.queue[0]
	t.queue[0] = nil
	t.queue = t.queue[1:]
	token(t.room)
	return entries
}

func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Tail implements topiclog.Log. The frames are the tail's own copies. What was
// acknowledged before Close is handed to fn before Tail returns.
func (l *Log) Tail(ctx context.Context, fn func(topiclog.Entry)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // lets a push go on that waits for this tail
	t := &tail{more: make(chan struct{}, 1), room: make(chan struct{}, 1), done: ctx.Done()}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return topiclog.ErrClosed
	}
	l.tails[t] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.tails, t)
		l.mu.Unlock()
	}()
	for {
		for entries := t.pop(); entries != nil; entries = t.pop() {
			for _, e := range entries {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				fn(e)
			}
		}
		select {
		case <-t.more:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.ended: // the loop pushes nothing more
			for entries := t.pop(); entries != nil; entries = t.pop() {
				for _, e := range entries {
					fn(e)
				}
			}
			return topiclog.ErrClosed
		}
	}
}
