package client

import (
	"runtime"
	"time"

	"github.com/ignex/nova/internal/ws"
)

// write is the goroutine that writes: all that is queued in one piece, as often
// as there is something. An error closes the socket, which ends the reader.
func (s *socket) write(first []byte) {
	defer close(s.written)
	err := s.put(first)
	var later <-chan time.Time // there is more to write than the server's rate allows
	for err == nil {
		select {
		case <-s.c.queue.wake:
			runtime.Gosched() // who else is about to send goes along in one write
			later, err = s.flush()
		case <-later:
			later, err = s.flush()
		case payload := <-s.bye:
			s.last(payload)
			return
		case <-s.readDone:
			select {
			case payload := <-s.bye:
				s.last(payload)
			default:
			}
			return
		case <-s.c.closing:
			if err = s.flushAll(); err == nil {
				s.leave(ws.CodeNormal)
				return
			}
		case <-s.pause.begun:
			if _, err = s.flush(); err == nil {
				s.leave(codePaused)
				return
			}
		}
	}
	s.writeErr = err
	s.conn.Close()
}

// flushAll writes all that is queued, unless reading ends before.
func (s *socket) flushAll() error {
	for {
		later, err := s.flush()
		if err != nil || later == nil {
			return err
		}
		select {
		case <-later:
		case <-s.readDone:
			return nil
		}
	}
}

// leave closes from our side and waits for the other's.
func (s *socket) leave(code int) {
	s.last(ws.AppendClosePayload(nil, code, ""))
	timer := time.NewTimer(closeWait)
	select {
	case <-s.readDone:
	case <-timer.C:
	}
	timer.Stop()
	s.conn.Close()
}

// last writes a close frame, if it can be done at once.
func (s *socket) last(payload []byte) {
	if s.conn.SetWriteDeadline(time.Now().Add(byeWait)) == nil {
		// An error means that the other side is gone already.
		_, _ = s.conn.Write(ws.AppendMasked(nil, ws.Close, payload, newKey()))
	}
}

// flush writes what is queued. later is set when some of it has to wait.
func (s *socket) flush() (later <-chan time.Time, err error) {
	batch, items, expired, wait := s.c.queue.take(time.Now())
	s.c.reportExpired(expired)
	if len(batch) > 0 {
		if err := s.put(batch); err != nil {
			s.lost = items
			return nil, err
		}
		s.c.queue.wrote(batch, items)
	}
	if wait > 0 {
		later = time.After(wait)
	}
	return later, nil
}

func (s *socket) put(b []byte) error {
	s.lostSent = 0
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.c.options.WriteStall)); err != nil {
		return err
	}
	n, err := s.conn.Write(b)
	s.lostSent = n
	return err
}
