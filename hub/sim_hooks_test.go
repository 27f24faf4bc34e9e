package hub_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// What the application does wrong: its hooks are slow, fail or panic.

const (
	moodAuthorize = iota
	moodHook
	moodHandler
	moodLog
	simMoods
)

// sigh does what the application is in the mood for. It never takes long enough
// for a client to be given up.
func (w *simWorld) sigh(kind int) error {
	w.mu.Lock()
	mood := w.mood[kind]
	w.sighs++ // no two wake at the same moment: their order would be drawn by lot
	pause := 800*time.Millisecond + time.Duration(w.sighs)*time.Microsecond
	w.mu.Unlock()
	switch mood % 4 {
	case 1:
		time.Sleep(pause)
	case 2:
		return errors.New("not today")
	case 3:
		panic("the application has a bug")
	}
	return nil
}

// quiet makes the application behave.
func (w *simWorld) quiet() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mood = [simMoods]int{}
}

func (w *simWorld) authorize(_ context.Context, _ *nova.Client, name string) error {
	if err := w.sigh(moodAuthorize); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denied[name] {
		return nova.Errorf(nova.Denied, "%s is not allowed", name)
	}
	return nil
}

func (w *simWorld) handle(_ context.Context, from *nova.Client, payload []byte) error {
	var q market.Quote
	if err := q.UnmarshalNova(payload); err != nil {
		return err
	}
	w.mu.Lock()
	w.handled[from] = append(w.handled[from], q.Ts)
	early := w.limits.OnConnect != nil && w.lives[from] == nil
	w.mu.Unlock()
	if early {
		w.fail(18, "frame %d of client %s is handled before OnConnect", q.Ts, from.ID())
	}
	return w.sigh(moodHandler)
}

// simLife counts the hooks of one session.
type simLife struct{ lost, ended int }

func (w *simWorld) onConnect(_ context.Context, c *nova.Client) {
	w.mu.Lock()
	was := w.lives[c]
	w.lives[c] = &simLife{}
	w.mu.Unlock()
	if was != nil {
		w.fail(17, "client %s connects a second time", c.ID())
	}
	_ = w.sigh(moodHook)
}

func (w *simWorld) onLost(_ context.Context, c *nova.Client, _ int) {
	w.lifeOf(c, "is lost", func(l *simLife) { l.lost++ })
	_ = w.sigh(moodHook)
}

func (w *simWorld) onRestored(_ context.Context, c *nova.Client) {
	w.lifeOf(c, "is restored", func(*simLife) {})
	_ = w.sigh(moodHook)
}

func (w *simWorld) onDisconnect(_ context.Context, c *nova.Client, _ hub.EndReason) {
	w.lifeOf(c, "disconnects", func(l *simLife) { l.ended++ })
	_ = w.sigh(moodHook)
}

func (w *simWorld) lifeOf(c *nova.Client, what string, note func(*simLife)) {
	w.mu.Lock()
	l := w.lives[c]
	over := l == nil || l.ended > 0
	if l != nil {
		note(l)
	}
	w.mu.Unlock()
	if over {
		w.fail(17, "client %s %s outside its life", c.ID(), what)
	}
}

// checkLives: every session that began has ended, as the application sees it.
func (w *simWorld) checkLives() {
	w.mu.Lock()
	open := 0
	for _, l := range w.lives {
		if l.ended != 1 {
			open++
		}
	}
	w.mu.Unlock()
	if open > 0 {
		w.fail(17, "%d clients connected and never disconnected", open)
	}
}

func authenticateSim(_ context.Context, c server.Credentials) (server.Identity, error) {
	q := c.Request.URL.Query()
	id := server.Identity{ClientID: q.Get("client"), UserID: q.Get("user")}
	if t := q.Get("topics"); t != "" {
		id.Topics = strings.Split(t, ",")
	}
	if g := q.Get("groups"); g != "" {
		id.Groups = strings.Split(g, ",")
	}
	return id, nil
}
