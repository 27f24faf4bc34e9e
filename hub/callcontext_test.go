package hub

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type valueKey struct{}

// A callContext behaves as one of package context, and derived ones end with it.
func TestCallContext(t *testing.T) {
	type ends func(c *callContext, parent context.CancelFunc)
	for name, end := range map[string]ends{
		"deadline": func(*callContext, context.CancelFunc) { time.Sleep(time.Second) },
		"cancel":   func(c *callContext, _ context.CancelFunc) { c.cancel(context.Canceled) },
		"parent":   func(_ *callContext, cancel context.CancelFunc) { cancel() },
	} {
		want := context.Canceled
		if name == "deadline" {
			want = context.DeadlineExceeded
		}
		for _, early := range []bool{true, false} { // somebody waits before the end
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "value"))
					defer cancel()
					c := &callContext{Context: parent, deadline: time.Now().Add(time.Second)}
					var child context.Context
					ran := make(chan bool, 1)
					if early {
						var done context.CancelFunc
						child, done = context.WithCancel(c)
						defer done()
						stop := context.AfterFunc(c, func() { t.Error("it was stopped") })
						if !stop() || stop() {
							t.Error("stop")
						}
						context.AfterFunc(c, func() { ran <- true })
					}
					if d, ok := c.Deadline(); !ok || d != c.deadline || c.Err() != nil || c.Value(valueKey{}) != "value" {
						t.Error("before the end")
					}
					end(c, cancel)
					synctest.Wait()
					<-c.Done()
					if !errors.Is(c.Err(), want) {
						t.Errorf("%v, want %v", c.Err(), want)
					}
					if early {
						<-child.Done()
						<-ran
					} else {
						context.AfterFunc(c, func() { ran <- true })
						<-ran
					}
					c.cancel(context.Canceled) // again changes nothing
					if !errors.Is(c.Err(), want) {
						t.Errorf("%v after another end", c.Err())
					}
				})
			})
		}
	}
}
