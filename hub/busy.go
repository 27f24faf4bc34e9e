package hub

import "time"

// busyness measures how much of the time a loop works, and makes it wait a
// little when that is more than half and publishes come faster than turns end:
// what arrives meanwhile is then written together, and writes are what costs.
type busyness struct {
	last  time.Time // end of the last wait
	share float64   // moving average of work / (work + wait)
}

// busyTurn is the length from which on a turn counts in full: half of the average.
const busyTurn = 10 * time.Millisecond

func (b *busyness) idle(wait func()) {
	worked := b.worked()
	start := time.Now()
	wait()
	b.last = time.Now()
	b.add(worked, b.last.Sub(start))
}

func (b *busyness) worked() time.Duration {
	if b.last.IsZero() {
		return 0
	}
	return time.Since(b.last)
}

func (b *busyness) add(worked, waited time.Duration) {
	total := worked + waited
	if total <= 0 {
		return
	}
	weight := min(1, float64(total)/float64(busyTurn)) / 2
	b.share += weight * (float64(worked)/float64(total) - b.share)
}

// loaded reports whether the loop works a quarter of the time or more.
func (b *busyness) loaded() bool { return b.share >= 0.25 }

// pause is called with nothing left to write.
func (b *busyness) pause() {
	if b.share <= 0.5 {
		return
	}
	window := time.Millisecond
	if b.share > 0.75 {
		window = 2 * time.Millisecond
	}
	b.idle(func() { time.Sleep(window) })
}
