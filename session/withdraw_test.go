package session

import (
	"fmt"
	"testing"

	"github.com/ignex/nova/wire"
)

// withdraw withdraws a target and checks number by number what became of it: a
// hole in the place of its frames, nothing else, and a write under way left alone.
func (l *lives) withdraw(target uint64) {
	type number struct {
		batch *Batch
		at    int
	}
	numbers := func() (list []number) {
		for i := range l.q.ring.n {
			r := l.q.ring.at(i)
			if i > 0 && r.batch == nil && l.q.ring.at(i-1).batch == nil && l.q.joins(r.num) {
				l.t.Fatalf("two holes meet at %d", r.num)
			}
			for k := range int(r.count) {
				n := number{batch: r.batch}
				if r.batch != nil {
					n.at = int(r.first) + k
				}
				list = append(list, n)
			}
		}
		return list
	}
	want, n := numbers(), 0
	for i := range want {
		x, num := &want[i], l.q.lost+1+uint64(i)
		if x.batch == nil || x.batch.own || x.batch.frames[x.at].Target != target ||
			num >= l.c.at.next && num < l.q.sealed() {
			continue
		}
		*x = number{}
		n++
	}
	if got := l.q.Withdraw(target); got != n {
		l.t.Fatalf("withdrew %d, want %d", got, n)
	}
	for i, x := range numbers() {
		if x != want[i] {
			l.t.Fatalf("number %d is %v, want %v", l.q.lost+1+uint64(i), x, want[i])
		}
	}
}

// The time for one frame must not grow with their number.
func BenchmarkWithdraw(b *testing.B) {
	event := &wire.Event{}
	data := wire.AppendHeader(nil, 1)
	for _, kept := range []int{1 << 10, 1 << 14} {
		b.Run(fmt.Sprint(kept), func(b *testing.B) {
			limits := &Limits{UnsentFrames: kept, UnsentBytes: 1 << 30, Numbered: true}
			for b.Loop() {
				b.StopTimer()
				var q Queue
				q.Init(limits)
				q.Admit(1, true, true)
				for i := range kept {
					f := NewFrame(event, data)
					f.Target = 1 + uint64(i%2)
					q.Append(NewBatch([]Frame{f}), 0, 1)
				}
				b.StartTimer()
				if n := q.Withdraw(1); n != kept/2 {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*kept), "ns/frame")
		})
	}
}
