package hub_test

import (
	"context"
	"slices"
	"strconv"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/wire"
)

var (
	simTopics = []string{"t0", "t1", "t2", simLogged}
	simRooms  = []string{"t0", "t1", "t2", simLogged, "g0", "g1", "g2"}
	simEvents = []string{"must", "drop", "latest", "plain", "fleeting", "state"}
)

func itoa(n int) string { return strconv.Itoa(n) }

// simEmit is one publish.
type simEmit struct {
	event   string
	target  nova.Target
	key     string
	refused bool
}

// must reports whether the emit may only be lost with its session.
func (w *simWorld) must(e simEmit) bool {
	switch e.event {
	case "must":
		return true
	case "plain", "fleeting":
		return w.limits.Backpressure.Policy == 2
	}
	return false
}

// simAddress is an emit on its way to one session: once for each topic that both
// have, which is only known of frames with a position.
type simAddress struct {
	emit  int
	topic string
}

// simPlace is where a topic's history has an emit.
type simPlace struct {
	simAddress
	epoch  string
	offset uint64
}

func simFrame(event string, id int, key string) []byte {
	frame, err := market.QuoteEvent.AppendFrame(nil, &market.Quote{Symbol: key, Ts: int64(id)})
	if err != nil {
		panic(err)
	}
	n := wire.EventID(event)
	for i := range 4 {
		frame[1+i] = byte(n >> (8 * i))
	}
	return frame
}

func (w *simWorld) event(name string) *wire.Event {
	events := w.limits.Schema.Layout().Events
	return &events[slices.IndexFunc(events, func(e wire.Event) bool { return e.Name == name })]
}

// target makes a target of two numbers.
func (w *simWorld) target(a, b int) nova.Target {
	n := itoa(b % 3)
	var t nova.Target
	switch a % 9 {
	case 0:
		t = nova.Broadcast()
	case 1, 2:
		t = nova.Topic(simTopics[b%len(simTopics)])
	case 3:
		t = nova.Group("g" + n)
	case 4:
		t = nova.User("u" + n)
	case 5:
		t = nova.ClientID("c" + n)
	case 6:
		t = nova.UserGroup("us" + n)
	default:
		t = nova.Topics("t"+n, simTopics[b/3%len(simTopics)], "t"+n)
	}
	if list := w.hub.SimSessions(); b%5 == 0 && len(list) > 0 {
		t = t.But(list[b/5%len(list)].ID())
	}
	return t
}

func simTopicsOf(t nova.Target) []string {
	switch t.Kind {
	case nova.ToTopic:
		return []string{t.Name}
	case nova.ToTopics:
		return slices.Compact(slices.Sorted(slices.Values(t.Names)))
	}
	return nil
}

// simReached is a session that a publish has to reach.
type simReached struct {
	s     *hub.Session
	topic string
}

// reach returns whom a target has, those that catch up apart.
func (w *simWorld) reach(t nova.Target, catching bool) (list []simReached) {
	for _, s := range w.hub.SimSessions() {
		switch {
		case t.Except != "" && s.ID() == t.Except:
		case t.Kind == nova.ToTopic, t.Kind == nova.ToTopics:
			for _, name := range simTopicsOf(t) {
				if w.topicLog != nil && name == simLogged {
					continue // whoever is a member once the log has it
				}
				if s.SimMember(nova.Topic(name)) && s.SimCatching(name) == catching {
					list = append(list, simReached{s, name})
				}
			}
		case catching:
		case t.Kind == nova.ToUserGroup && w.users[t.Name][s.User()], t.Kind != nova.ToUserGroup && s.SimMember(t):
			list = append(list, simReached{s, ""})
		}
	}
	return list
}

// publish publishes one event and notes whom it has to reach. racing: clients'
// frames arrive meanwhile.
func (w *simWorld) publish(event string, target nova.Target, key string, racing bool) {
	id := len(w.emits)
	reach, late := w.reach(target, false), w.reach(target, true)
	result, err := w.hub.TryPublishFrame(context.Background(), nova.Publication{
		Event: w.event(event), Frame: simFrame(event, id, key), Target: target,
	})
	e := simEmit{event: event, target: target, key: key}
	if err != nil {
		code := nova.CodeOf(err)
		if e.refused = true; !w.logged(target) || code != nova.Unavailable && code != nova.Exhausted {
			w.fail(20, "publish: %v", err)
		}
		w.emits = append(w.emits, e)
		return
	}
	if result.Members != len(reach) && !racing && !w.logged(target) {
		w.fail(17, "publish to %+v reaches %d, the sessions say %d", target, result.Members, len(reach))
	}
	w.emits = append(w.emits, e)
	places := map[string]simPlace{}
	if event != "fleeting" {
		for _, name := range simTopicsOf(target) {
			if w.topicLog != nil && name == simLogged {
				continue
			}
			epoch, head := w.hub.SimPosition(name)
			ref := hub.SimRef(epoch, name)
			if target.Kind == nova.ToTopic && result.Offset != head {
				w.fail(13, "%s: offset %d, the head is %d", name, result.Offset, head)
			}
			if was, ok := w.offsets[[2]uint64{ref, head}]; ok {
				w.fail(13, "offset %d of %s is emit %d and emit %d", head, name, was, id)
			}
			w.names[ref], w.offsets[[2]uint64{ref, head}] = name, id
			places[name] = simPlace{simAddress{id, name}, epoch, head}
		}
	}
	for _, to := range reach {
		l := w.log(to.s)
		l.addressed = append(l.addressed, simAddress{id, w.told(id, to.topic)})
	}
	if racing {
		late = append(late, w.reach(target, false)...)
	}
	for _, to := range late {
		if place, ok := places[to.topic]; ok && !slices.Contains(reach, to) {
			l := w.log(to.s)
			l.perhaps = append(l.perhaps, place)
		}
	}
}

// told returns the topic as clients can tell it.
func (w *simWorld) told(id int, topic string) string {
	if e := w.emits[id]; e.event == "fleeting" && e.target.Kind == nova.ToTopics {
		return ""
	}
	return topic
}

// most returns how often one client gets an emit of an address.
func (w *simWorld) most(a simAddress) int {
	if e := w.emits[a.emit]; a.topic == "" && e.target.Kind == nova.ToTopics {
		return len(simTopicsOf(e.target))
	}
	return 1
}
