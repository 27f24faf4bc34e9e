package sim

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/ignex/nova/session"
)

// Peek reads the private state of a queue, which its package keeps to itself.
type Peek struct {
	q *session.Queue
	l *queueLayout
}

// State is what a queue says of itself.
type State struct {
	Next, Lost, Written, Acked              uint64
	UnsentFrames, UnsentBytes               int
	OwnFrames, OwnBytes, KeptBytes, KeepMax int
	Broken, Admitted                        bool
	Runs                                    int
	SlotBytes                               int // of memory that the ring has for runs
}

// Run is a piece of a ring: Batch nil is a hole, whose reason First is.
type Run struct {
	Batch *session.Batch
	Num   uint64
	Count uint32
	First uint32
}

type queueLayout struct {
	at                       map[string]uintptr
	cursorNext, cursorRewind uintptr
	buf, head, n, tail       uintptr
	runSize                  uintptr
	batch, num, count, first uintptr
}

// Peeker makes Peeks. It panics when the fields it reads are not there.
type Peeker struct{ l *queueLayout }

// NewPeeker looks the fields up.
func NewPeeker() Peeker {
	t := reflect.TypeFor[session.Queue]()
	l := &queueLayout{at: map[string]uintptr{}}
	for _, name := range []string{"next", "lost", "written", "acked", "unsentFrames", "unsentBytes", "ownFrames",
		"ownBytes", "keptBytes", "keepFrames", "broken", "admitted"} {
		l.at[name] = field(t, name).Offset
	}
	c := reflect.TypeFor[session.Cursor]()
	l.cursorNext = field(c, "at").Offset + field(field(c, "at").Type, "next").Offset
	l.cursorRewind = field(c, "rewind").Offset
	ring := field(t, "ring")
	l.buf = ring.Offset + field(ring.Type, "buf").Offset
	l.head = ring.Offset + field(ring.Type, "head").Offset
	l.n = ring.Offset + field(ring.Type, "n").Offset
	l.tail = ring.Offset + field(ring.Type, "tail").Offset
	run := field(ring.Type, "buf").Type.Elem()
	l.runSize = run.Size()
	l.batch, l.num = field(run, "batch").Offset, field(run, "num").Offset
	l.count, l.first = field(run, "count").Offset, field(run, "first").Offset
	return Peeker{l}
}

func field(t reflect.Type, name string) reflect.StructField {
	f, ok := t.FieldByName(name)
	if !ok {
		panic(fmt.Sprintf("sim: %v has no field %s any more: adapt the simulator", t, name))
	}
	return f
}

// At looks at one queue.
func (p Peeker) At(q *session.Queue) Peek { return Peek{q, p.l} }

type slice struct {
	data   unsafe.Pointer
	len, _ int
}

func read[T any](p unsafe.Pointer, off uintptr) T { return *(*T)(unsafe.Add(p, off)) }

// State reads the numbers.
func (p Peek) State() State {
	b, at := unsafe.Pointer(p.q), p.l.at
	return State{
		Next: read[uint64](b, at["next"]), Lost: read[uint64](b, at["lost"]),
		Written: read[uint64](b, at["written"]), Acked: read[uint64](b, at["acked"]),
		UnsentFrames: read[int](b, at["unsentFrames"]), UnsentBytes: read[int](b, at["unsentBytes"]),
		OwnFrames: read[int](b, at["ownFrames"]), OwnBytes: read[int](b, at["ownBytes"]),
		KeptBytes: read[int](b, at["keptBytes"]), KeepMax: read[int](b, at["keepFrames"]),
		Broken: read[bool](b, at["broken"]), Admitted: read[bool](b, at["admitted"]),
		Runs: read[int](b, p.l.n), SlotBytes: read[slice](b, p.l.buf).len * int(p.l.runSize),
	}
}

// Cursor reads where a socket stands: the number it writes next, and where its
// promised replay begins (0 = nowhere).
func (p Peeker) Cursor(c *session.Cursor) (next, rewind uint64) {
	b := unsafe.Pointer(c)
	return read[uint64](b, p.l.cursorNext), read[uint64](b, p.l.cursorRewind)
}

// Runs calls fn for each run of the ring, from the oldest on.
func (p Peek) Runs(fn func(Run)) {
	b := unsafe.Pointer(p.q)
	buf := read[slice](b, p.l.buf)
	head, n := read[int](b, p.l.head), read[int](b, p.l.n)
	for i := range n {
		r := unsafe.Add(b, p.l.tail)
		if i < n-1 {
			r = unsafe.Add(buf.data, uintptr((head+i)&(buf.len-1))*p.l.runSize)
		}
		fn(Run{
			Batch: read[*session.Batch](r, p.l.batch), Num: read[uint64](r, p.l.num),
			Count: read[uint32](r, p.l.count), First: read[uint32](r, p.l.first),
		})
	}
}
