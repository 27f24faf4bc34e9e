package client

import (
	"fmt"

	"github.com/ignex/nova"
)

// Gap tells of frames that will not come.
type Gap struct {
	Topic  string // the numbers are offsets of this topic; "" = delivery numbers
	From   uint64 // first missing
	To     uint64 // last missing; 0 = not known
	Reason GapReason
}

// GapReason says why frames are missing.
type GapReason int

// The reasons. Superseded frames, of which a newer value came, are counted and
// not reported.
const (
	GapUnknown    GapReason = 0 // the server does not say
	GapSuperseded GapReason = 1 // a newer value of the same key comes
	GapPolicy     GapReason = 2 // the connection did not keep up
	GapWithdrawn  GapReason = 3 // the client may not have them any more
	GapCluster    GapReason = 4 // lost between servers
	GapLog        GapReason = 5 // the topic's log has lost them
	// GapConsumer: an iterator did not keep up. From and To are 0 when the frame
	// has neither offset nor number.
	GapConsumer GapReason = 100
)

// consumerGap is the gap that an iterator has for a frame.
func consumerGap(d nova.Delivery) Gap {
	g := Gap{Topic: d.Topic, From: d.Offset, To: d.Offset, Reason: GapConsumer}
	if d.Offset == 0 {
		g.Topic, g.From, g.To = "", d.Seq, d.Seq
	}
	return g
}

// String returns the reason in a few words.
func (r GapReason) String() string {
	switch r {
	case GapUnknown:
		return "unknown reason"
	case GapSuperseded:
		return "superseded"
	case GapPolicy:
		return "connection too slow"
	case GapWithdrawn:
		return "withdrawn"
	case GapCluster:
		return "lost between servers"
	case GapLog:
		return "lost by the log"
	case GapConsumer:
		return "consumer too slow"
	}
	return fmt.Sprintf("reason %d", int(r))
}

// String returns the gap as text for logs.
func (g Gap) String() string {
	what := "delivery numbers"
	if g.Topic != "" {
		what = fmt.Sprintf("offsets of %q", g.Topic)
	}
	if g.To == 0 {
		return fmt.Sprintf("%s missing from %d: %v", what, g.From, g.Reason)
	}
	return fmt.Sprintf("%s %d to %d missing: %v", what, g.From, g.To, g.Reason)
}
