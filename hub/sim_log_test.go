package hub_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/wire"
)

// simLogged is the topic that has a log, in programs that have one.
const simLogged = "t3"

// simTopicLog is a log that outlives the server's lives, and that fails, takes what
// it says it did not, or does not answer, as the program says.
type simTopicLog struct {
	*topiclog.Memory
	w *simWorld

	mu      sync.Mutex
	refs    map[uint64]bool        // of the epochs clients were told
	entries map[uint64]simLogEntry // by offset
}

type simLogEntry struct {
	emit   int
	except string
}

var errSimLog = errors.New("the simulated log fails")

func newSimTopicLog(w *simWorld) *simTopicLog {
	return &simTopicLog{Memory: topiclog.NewMemory(topiclog.MemoryOptions{}), w: w, entries: map[uint64]simLogEntry{}, refs: map[uint64]bool{}}
}

// AppendAll implements topiclog.Batcher.
func (l *simTopicLog) AppendAll(ctx context.Context, list []topiclog.Entry) error {
	mood := l.w.moodOf(moodLog)
	switch mood {
	case 1:
		return errSimLog
	case 2:
		list = slices.Clone(list)
	case 3:
		<-ctx.Done()
		return ctx.Err()
	}
	if err := l.Memory.AppendAll(ctx, list); err != nil {
		return err
	}
	l.note(list)
	if mood == 2 {
		return errSimLog
	}
	return nil
}

// note remembers what the log has.
func (l *simTopicLog) note(list []topiclog.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range list {
		head, body, err := wire.ParseFrame(e.Frame)
		if err != nil {
			l.w.fail(12, "logged: %v", err)
			continue
		}
		entry := simLogEntry{simEmitID(head.ID, body), e.Except}
		if was, ok := l.entries[e.Offset]; ok && was != entry {
			l.w.fail(13, "offset %d of the log is %+v and %+v", e.Offset, was, entry)
		}
		l.entries[e.Offset] = entry
	}
}

// Head implements topiclog.Log.
func (l *simTopicLog) Head(ctx context.Context, topic string) (string, uint64, uint64, error) {
	switch l.w.moodOf(moodLog) {
	case 1:
		return "", 0, 0, errSimLog
	case 3:
		<-ctx.Done()
		return "", 0, 0, ctx.Err()
	}
	return l.Memory.Head(ctx, topic)
}

// Range implements topiclog.Log.
func (l *simTopicLog) Range(ctx context.Context, topic, epoch string, after uint64, limit int) ([]topiclog.Entry, uint64, error) {
	switch l.w.moodOf(moodLog) {
	case 1:
		return nil, 0, errSimLog
	case 3:
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	return l.Memory.Range(ctx, topic, epoch, after, limit)
}

// told learns an epoch of the topic: the log's, perhaps of a later generation.
func (l *simTopicLog) told(epoch string) {
	of, _, _, _ := l.Memory.Head(context.Background(), simLogged)
	ref := hub.SimRef(epoch, simLogged)
	l.w.names[ref] = simLogged
	l.mu.Lock()
	defer l.mu.Unlock()
	if of != "" && strings.HasPrefix(epoch, of) {
		l.refs[ref] = true
	}
}

func (w *simWorld) moodOf(mood int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mood[mood]
}

// offset returns the emit of a topic's position; false: nothing has it.
func (w *simWorld) offset(ref, offset uint64) (emit int, ok bool) {
	if l := w.topicLog; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.refs[ref] {
			e, ok := l.entries[offset]
			return e.emit, ok
		}
	}
	emit, ok = w.offsets[[2]uint64{ref, offset}]
	return emit, ok
}

// logged reports whether a target has the topic with the log.
func (w *simWorld) logged(t nova.Target) bool {
	return w.topicLog != nil && slices.Contains(simTopicsOf(t), simLogged)
}

// checkLog holds that what was accepted in this life is in the log, once and in the
// order of publishing, and that nothing refused is.
func (w *simWorld) checkLog() {
	l := w.topicLog
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last, found := -1, map[int]bool{}
	for _, offset := range slices.Sorted(maps.Keys(l.entries)) {
		id := l.entries[offset].emit
		if id < 0 || w.emits[id].refused || found[id] {
			w.fail(19, "offset %d of the log is emit %d: refused, or again", offset, id)
			continue
		}
		if found[id] = true; id < last && last >= w.began && id >= w.began {
			w.fail(1, "offset %d of the log is emit %d, behind %d", offset, id, last)
		}
		last = id
	}
	for id := w.began; id < len(w.emits); id++ {
		if e := w.emits[id]; w.logged(e.target) && e.event != "fleeting" && !e.refused && !found[id] {
			w.fail(19, "emit %d (%+v) was accepted and is not in the log", id, e)
		}
	}
}

// logReached returns how many entries of the log a client should have got and has
// not.
func (w *simWorld) logReached(cl *simClient, got map[simAddress]int) (missing int) {
	l, s := w.topicLog, cl.subs[simLogged]
	if l == nil || s == nil || cl.life == nil || cl.quits(simLogged) {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for offset, e := range l.entries {
		a := simAddress{e.emit, simLogged}
		if s.from < offset && !s.lacks(offset) && e.except != cl.life.ID() && got[a]+cl.seen[a] == 0 {
			missing++
		}
	}
	return missing
}
