package client

import (
	"errors"
	"testing"
	"time"

	"github.com/ignex/nova"
)

func newRetry(token bool) retry {
	return retry{Reconnect: Reconnect{Initial: 250 * time.Millisecond, Max: 30 * time.Second, Stable: 10 * time.Second}, hasToken: token}
}

func TestRetryByCode(t *testing.T) {
	const goesOn = nova.OK
	cause := errors.New("cause")
	for _, c := range []struct {
		end  ending
		want nova.Code
	}{
		{ending{code: 1000, reason: "replaced by newer session"}, nova.Unavailable},
		{ending{code: 1001}, goesOn},
		{ending{code: 1002}, nova.FailedPrecondition},
		{ending{code: 1003}, nova.Invalid},
		{ending{code: 1005}, goesOn},
		{ending{code: 1006}, goesOn},
		{ending{code: 1007}, nova.FailedPrecondition},
		{ending{code: 1007, own: true}, goesOn},
		{ending{code: 1010}, nova.FailedPrecondition},
		{ending{code: 1008, reason: "rate limit exceeded"}, goesOn},
		{ending{code: 1008, reason: "policy"}, nova.Denied},
		{ending{code: 1009}, nova.Invalid},
		{ending{code: 1011}, goesOn},
		{ending{code: 1012}, goesOn},
		{ending{code: 1013}, goesOn},
		{ending{code: 4401}, nova.Unauthenticated}, // without a token function
		{ending{code: 4000}, nova.FailedPrecondition},
		{ending{code: 4403}, nova.Denied},
		{ending{code: 4999}, goesOn},
		{ending{status: 401}, nova.Unauthenticated},
		{ending{status: 403}, nova.Denied},
		{ending{status: 404}, goesOn},
		{ending{status: 409}, goesOn},
		{ending{status: 503}, goesOn},
	} {
		c.end.err = cause
		r := newRetry(false)
		d := r.next(c.end, 0.5)
		if got := nova.CodeOf(d.stop); got != c.want {
			t.Errorf("%+v: stops with %v, want %v", c.end, got, c.want)
		}
		if d.stop != nil && !errors.Is(d.stop, cause) {
			t.Errorf("%+v: the cause is lost: %v", c.end, d.stop)
		}
	}
	r := newRetry(false)
	r.Off = true
	if d := r.next(ending{code: 1006, err: cause}, 0.5); nova.CodeOf(d.stop) != nova.Unavailable {
		t.Errorf("switched off, yet %v", d)
	}
}

func TestRetryWindows(t *testing.T) {
	r := newRetry(false)
	lost := ending{code: 1006, framed: true, lasted: time.Second}
	for i, want := range []time.Duration{250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000} {
		if got := r.window(); got != want*time.Millisecond {
			t.Errorf("window %d is %v, want %v", i, got, want*time.Millisecond)
		}
		d := r.next(lost, 0.5)
		if d.wait != want*time.Millisecond/2 {
			t.Errorf("wait %d is %v, want half of %v", i, d.wait, want*time.Millisecond)
		}
	}
	lost.lasted = 10 * time.Second
	if d := r.next(lost, 0.999); d.wait >= 250*time.Millisecond || d.wait < 200*time.Millisecond {
		t.Errorf("after a stable connection the wait is %v", d.wait)
	}
	if d := r.next(ending{code: 1012, after: 1700 * time.Millisecond}, 0.1); d.wait != 1700*time.Millisecond {
		t.Errorf("asked to wait 1.7 s, waits %v", d.wait)
	}
	if d := r.next(ending{code: 1001, after: 400 * time.Hour}, 0.1); d.wait != maxAfter {
		t.Errorf("asked to wait 400 h, waits %v", d.wait)
	}
	if d := r.next(ending{code: 1008, reason: "rate limit exceeded"}, 0); d.wait != 15*time.Second {
		t.Errorf("after the rate limit the wait is %v", d.wait)
	}
}

func TestRetryToken(t *testing.T) {
	cause := errors.New("cause")
	r := newRetry(true)
	d := r.next(ending{code: 4401, err: cause}, 0)
	if d.stop != nil || !d.token {
		t.Errorf("first 4401: %+v", d)
	}
	if d = r.next(ending{code: 4401, err: cause}, 0); nova.CodeOf(d.stop) != nova.Unauthenticated {
		t.Errorf("second 4401: %+v", d)
	}
	r = newRetry(true)
	r.next(ending{status: 401, err: cause}, 0)
	r.next(ending{code: 1006, framed: true, lasted: time.Minute, err: cause}, 0)
	if d = r.next(ending{code: 4401, framed: true, err: cause}, 0); d.stop != nil {
		t.Errorf("4401 after a stable connection: %+v", d)
	}
	r = newRetry(true)
	if d = r.next(ending{code: 1006, err: cause}, 0); d.token {
		t.Error("asks for a token after one early loss")
	}
	if d = r.next(ending{code: 1006, err: cause}, 0); !d.token {
		t.Error("asks for no token after two early losses")
	}
	if d = r.next(ending{code: 1006, framed: true, err: cause}, 0); d.token {
		t.Error("asks for a token although frames came")
	}
}
