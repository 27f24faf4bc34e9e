package topiclog

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
)

// MemoryOptions bound a Memory. The zero value works.
type MemoryOptions struct {
	MaxFrames int // per topic; default 10,000
	MaxBytes  int // in all; over it the oldest entries of the topic appended to go; default 256 MiB
}

// Memory is a Log that is lost with the process.
type Memory struct {
	options MemoryOptions

	mu     sync.Mutex
	topics map[string]*memoryTopic
	bytes  int
	tails  map[*tail]struct{}
	closed chan struct{}
}

type memoryTopic struct {
	epoch   string
	lost    uint64
	head    uint64
	entries []Entry
	ids     map[string]uint64 // of the entries kept
}

// tail is one call of Tail.
type tail struct {
	entries chan Entry
	done    <-chan struct{}
}

var (
	_ Log     = (*Memory)(nil)
	_ Batcher = (*Memory)(nil)
)

// NewMemory makes an empty log.
func NewMemory(options MemoryOptions) *Memory {
	if options.MaxFrames <= 0 {
		options.MaxFrames = 10_000
	}
	if options.MaxBytes <= 0 {
		options.MaxBytes = 256 << 20
	}
	return &Memory{options: options, topics: map[string]*memoryTopic{}, tails: map[*tail]struct{}{}, closed: make(chan struct{})}
}

func (m *Memory) isClosed() bool {
	select {
	case <-m.closed:
		return true
	default:
		return false
	}
}

// Append implements Log.
func (m *Memory) Append(ctx context.Context, topic, id string, frame []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed() {
		return 0, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	_, offset := m.add(topic, id, "", frame)
	return offset, nil
}

// AppendAll implements Batcher.
func (m *Memory) AppendAll(ctx context.Context, entries []Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed() {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		e.Epoch, e.Offset = m.add(e.Topic, e.ID, e.Except, e.Frame)
	}
	return nil
}

// add appends one frame; m.mu is held.
func (m *Memory) add(topic, id, except string, frame []byte) (epoch string, offset uint64) {
	t := m.topics[topic]
	if t == nil {
		t = &memoryTopic{epoch: rand.Text(), ids: map[string]uint64{}}
		m.topics[topic] = t
	}
	if offset, ok := t.ids[id]; ok && id != "" {
		return t.epoch, offset
	}
	t.head++
	e := Entry{Topic: topic, Epoch: t.epoch, Offset: t.head, ID: id, Except: except, Frame: slices.Clone(frame)}
	t.entries = append(t.entries, e)
	if id != "" {
		t.ids[id] = e.Offset
	}
	m.bytes += len(frame)
	for len(t.entries) > m.options.MaxFrames || m.bytes > m.options.MaxBytes && len(t.entries) > 1 {
		m.dropFirst(t)
	}
	for tl := range m.tails {
		select {
		case tl.entries <- e:
		case <-tl.done:
		}
	}
	return e.Epoch, e.Offset
}

func (m *Memory) dropFirst(t *memoryTopic) {
	old := t.entries[0]
	delete(t.ids, old.ID)
	t.entries[0] = Entry{}
	t.entries = t.entries[1:]
	t.lost = old.Offset
	m.bytes -= len(old.Frame)
}

// Range implements Log.
func (m *Memory) Range(ctx context.Context, topic, epoch string, after uint64, limit int) ([]Entry, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed() {
		return nil, 0, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	t := m.topics[topic]
	if t == nil || t.epoch != epoch {
		return nil, 0, ErrEpoch
	}
	i, _ := slices.BinarySearchFunc(t.entries, after+1, func(e Entry, offset uint64) int { return cmp.Compare(e.Offset, offset) })
	if after == ^uint64(0) {
		i = len(t.entries)
	}
	return slices.Clone(t.entries[i:min(len(t.entries), i+max(limit, 0))]), t.lost, nil
}

// Head implements Log.
func (m *Memory) Head(ctx context.Context, topic string) (string, uint64, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed() {
		return "", 0, 0, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return "", 0, 0, err
	}
	if t := m.topics[topic]; t != nil {
		return t.epoch, t.lost, t.head, nil
	}
	return "", 0, 0, nil
}

// Tail implements Log.
func (m *Memory) Tail(ctx context.Context, fn func(Entry)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // lets an append go on that waits for this tail
	t := &tail{entries: make(chan Entry, 256), done: ctx.Done()}
	m.mu.Lock()
	if m.isClosed() {
		m.mu.Unlock()
		return ErrClosed
	}
	m.tails[t] = struct{}{}
	m.mu.Unlock()
	defer func() {
		cancel()
		m.mu.Lock()
		delete(m.tails, t)
		m.mu.Unlock()
	}()
	for {
		select {
		case e := <-t.entries:
			fn(e)
			continue
		case <-ctx.Done():
			return ctx.Err()
		case <-m.closed:
		}
		for { // what was appended before the close
			select {
			case e := <-t.entries:
				fn(e)
			default:
				return ErrClosed
			}
		}
	}
}

// Close implements Log.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed() {
		return ErrClosed
	}
	close(m.closed)
	m.topics, m.bytes = nil, 0
	return nil
}
