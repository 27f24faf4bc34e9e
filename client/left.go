package client

import (
	"maps"
	"slices"

	"github.com/ignex/nova/wire/control"
)

// leftSet is what was left and perhaps not by the server's account: when a
// connection is lost, nobody tells whether it read the last frames. It is told
// again when the session goes on. A pong to a later ping shows that it was read.
// Conn.mu guards it.
type leftSet struct {
	topics, groups map[string]int64 // value: time in the ping sent after it, 0 = none yet
}

// pingEvery is the number of departures after which a ping is sent ahead of time.
const pingEvery = 256

func newLeftSet() leftSet {
	return leftSet{topics: map[string]int64{}, groups: map[string]int64{}}
}

// topic notes that a topic was left and reports whether it is time for a ping.
func (l *leftSet) topic(name string) (ping bool) {
	l.topics[name] = 0
	return len(l.topics)%pingEvery == 0
}

// group notes that a group was left or entered again.
func (l *leftSet) group(name string, left bool) {
	if left {
		l.groups[name] = 0
	} else {
		delete(l.groups, name)
	}
}

// pinged notes that a ping follows all that was left so far.
func (l *leftSet) pinged(ts int64) {
	for _, m := range []map[string]int64{l.topics, l.groups} {
		for name, at := range m {
			if at == 0 {
				m[name] = ts
			}
		}
	}
}

// ponged forgets what the server has read by now.
func (l *leftSet) ponged(ts int64) {
	for _, m := range []map[string]int64{l.topics, l.groups} {
		maps.DeleteFunc(m, func(_ string, at int64) bool { return at != 0 && at <= ts })
	}
}

// frames returns the frames that tell it again.
func (l *leftSet) frames() []frameAppender {
	var frames []frameAppender
	for _, name := range slices.Sorted(maps.Keys(l.topics)) {
		l.topics[name] = 0
		frames = append(frames, &control.Unsubscribe{Topic: name})
	}
	for _, name := range slices.Sorted(maps.Keys(l.groups)) {
		l.groups[name] = 0
		frames = append(frames, &control.LeaveGroup{Group: name})
	}
	return frames
}
