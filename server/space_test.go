package server_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

const spaceFrames = 40

// spacious is a rig whose queues are short, a client of it that reads nothing yet, and
// what publishes to a target what may not be dropped.
func spacious(t *testing.T) (r *rig, p *rawPeer, m control.Session, publish func(ctx context.Context, to nova.Target, n int) error) {
	r = newRig(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: spaceFrames}}, server.Options{Authenticate: byQuery})
	p, m = r.attach("&user=ann&id=one", "", 0)
	note := fmt.Sprintf("%020000d", 0)
	return r, p, m, func(ctx context.Context, to nova.Target, n int) error {
		return market.OrderEvent.Publish(ctx, r.hub, to, &market.Order{OrderID: note, CreatedAt: int64(n)}, nova.WaitForSpace())
	}
}

// fill publishes until there is no room and returns how many went.
func fillUp(t *testing.T, r *rig, to nova.Target) (n int) {
	note := fmt.Sprintf("%020000d", 0)
	for {
		err := market.OrderEvent.TryPublish(t.Context(), r.hub, to, &market.Order{OrderID: note, CreatedAt: int64(n + 1)}, nova.WaitForSpace())
		if nova.CodeOf(err) == nova.Exhausted {
			return n
		}
		if err != nil || n > 20_000 {
			t.Fatal(n, err)
		}
		n++
	}
}

func (p *rawPeer) order(n int) {
	p.t.Helper()
	head, payload := p.data()
	var o market.Order
	if err := o.UnmarshalNova(payload); err != nil || head.ID != market.OrderEvent.ID() || o.CreatedAt != int64(n) {
		p.t.Fatalf("%+v, order %d, want %d (%v)", head, o.CreatedAt, n, err)
	}
}

// Publishers that wait for space go at the speed of their reader: nothing is dropped and
// nobody is ended, many times over what the queue holds, from several goroutines.
func TestPublishersKeepToTheirReader(t *testing.T) {
	r, p, m, publish := spacious(t)
	for name, to := range map[string]nova.Target{"client": nova.ClientID(m.ClientID), "user": nova.User("ann")} {
		began := fillUp(t, r, to)
		const each, publishers = 200, 3
		var all sync.WaitGroup
		for range publishers {
			all.Go(func() {
				for range each {
					if err := publish(t.Context(), to, began+1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if n, _ := r.hub.Client(m.ClientID).Queued(); n > spaceFrames {
			t.Errorf("%s: %d are queued, the bound is %d", name, n, spaceFrames)
		}
		for n := 1; n <= began; n++ {
			p.order(n)
		}
		for range each * publishers {
			p.order(began + 1)
		}
		all.Wait()
		p.sync()
	}
	if h := r.hub.Metrics(); h.SlowClosed != 0 || h.Dropped != 0 || h.Frames.Unsent != 0 {
		t.Errorf("%d ended, %d dropped, %d unsent", h.SlowClosed, h.Dropped, h.Frames.Unsent)
	}
}

// The wait ends with its context, with its client, and with the hub.
func TestWaitingForSpaceEnds(t *testing.T) {
	r, p, m, publish := spacious(t)
	to := nova.ClientID(m.ClientID)
	fillUp(t, r, to)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := publish(ctx, to, 0); nova.CodeOf(err) != nova.DeadlineExceeded {
		t.Errorf("in time: %v", err)
	}
	queued, _ := r.hub.Client(m.ClientID).Queued()
	waiting := func() chan error {
		done := make(chan error, 1)
		go func() { done <- publish(t.Context(), to, 0) }()
		return done
	}
	// Others, and other targets, are not held up.
	done := waiting()
	if n := r.publish(nova.Topic("t"), 1).Members; n != 0 {
		t.Errorf("%d members", n)
	}
	other, om := r.attach("&user=bob", "", 0)
	if err := publish(t.Context(), nova.ClientID(om.ClientID), 1); err != nil {
		t.Fatal(err)
	}
	other.order(1)
	for _, to := range []nova.Target{nova.Broadcast(), nova.Topic("t"), nova.Group("g"), nova.UserGroup("g")} {
		if err := publish(t.Context(), to, 0); nova.CodeOf(err) != nova.Invalid {
			t.Errorf("%+v: %v", to, err)
		}
	}
	if err := publish(t.Context(), nova.User("nobody"), 0); err != nil {
		t.Errorf("nobody: %v", err)
	}
	select {
	case err := <-done:
		t.Fatalf("it went through to a full queue: %v", err)
	default:
	}
	if n, _ := r.hub.Client(m.ClientID).Queued(); n != queued {
		t.Errorf("%d queued, before %d", n, queued)
	}
	r.hub.Client(m.ClientID).Disconnect(4403, "bye")
	if err := <-done; err != nil {
		t.Errorf("the client is gone: %v", err)
	}
	p.net.Close()
	_, m = r.attach("&user=ann&id=two", "", 0)
	to = nova.ClientID(m.ClientID)
	fillUp(t, r, to)
	done = waiting()
	closing, stop := context.WithCancel(t.Context())
	stop()
	_ = r.hub.Close(closing) // nobody reads: not all goes out
	if err := <-done; err != nil && nova.CodeOf(err) != nova.FailedPrecondition {
		t.Errorf("the hub is closed: %v", err)
	}
}

// Room in the queue of a client without a socket comes by what is withdrawn of it, and by
// values that newer ones supersede: whoever waits for it goes on.
func TestSpaceWithoutASocket(t *testing.T) {
	const frames = 8
	for name, c := range map[string]struct {
		fill func(r *rig, n int) // frame n of the client's queue, which is not in its way
		free func(r *rig, id string)
	}{
		"withdrawn": {
			func(r *rig, n int) { r.publish(nova.Topic("t"), n) },
			func(r *rig, id string) { r.hub.Client(id).Leave("t") },
		},
		"superseded": {
			func(r *rig, n int) { r.publish(nova.Broadcast(), 1) },
			func(r *rig, id string) { r.publish(nova.Broadcast(), 1) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newQuietRig(t, hub.Options{Backpressure: hub.Backpressure{MaxFrames: frames}}, server.Options{})
				p := r.greet(r.dialPipe(), "session/1", "topics/1")
				m := p.attach(control.Attach{})
				p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
				p.subscribed()
				p.net.Close()
				r.detached(1)
				for n := range frames {
					c.fill(r, n)
				}
				done := make(chan error, 1)
				go func() {
					done <- market.OrderEvent.Publish(t.Context(), r.hub, nova.ClientID(m.ClientID), &market.Order{}, nova.WaitForSpace())
				}()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("it went through to a full queue: %v", err)
				default:
				}
				c.free(r, m.ClientID)
				synctest.Wait()
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Error("it waits for room that is there")
				}
			})
		})
	}
}
