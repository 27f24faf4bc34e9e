package hub_test

import (
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

func (cl *simClient) takeBase(m *sim.Message) {
	for range 20 {
		switch cl.old.Push(m.Head.Seq, m.Payload) {
		case session.Deliver:
			cl.baseHandler(m.Payload)
			cl.drainHeld()
			return
		case session.Hold:
			if cl.old.Ask() {
				cl.asked++
				cl.send(&control.Resume{LastSeq: int64(cl.old.Last())})
			}
			return
		case session.Overflow:
			cl.letGo()
		default:
			return
		}
	}
	cl.w.fail(20, "client %d: number %d overflows for ever", cl.id, m.Head.Seq)
}

func (cl *simClient) letGo() {
	if _, _, ok := cl.old.Skip(); ok {
		cl.drainHeld()
	}
}

func (cl *simClient) drainHeld() {
	for {
		frame, ok := cl.old.Next()
		if !ok {
			return
		}
		cl.baseHandler(frame)
	}
}

// baseHandler: a base client gets the history again with a new subscription, so
// only what has no topic must not come twice.
func (cl *simClient) baseHandler(frame []byte) {
	head, body, err := wire.ParseFrame(frame)
	if err != nil {
		cl.w.fail(12, "client %d: %v", cl.id, err)
		return
	}
	if id := simEmitID(head.ID, body); id >= 0 && len(simTopicsOf(cl.w.emits[id].target)) == 0 {
		cl.handler(simAddress{id, ""}, head.Seq)
	}
}
