// Package filelog is a topiclog.Log in a directory: topic history that survives
// the process, without another service.
//
// # Files
//
// All topics share one sequence of append-only segments. A segment begins with
// the state of every topic, so the oldest ones can be deleted at any time; that
// is how the log is bounded, by bytes and by age. Every record carries its length
// and a CRC-32C. The index is in memory, 4 to 8 bytes for each frame kept, and is
// rebuilt when the log is opened. A lock file keeps a second process out.
//
// # What can be lost
//
// An append returns when its batch is written. A process that dies, also by
// kill −9, loses nothing that was acknowledged, under every policy. What a power
// failure or a crash of the operating system takes depends on Options.Sync:
//
//   - SyncInterval (default): at most the last 50 ms and the time of one fsync.
//   - SyncAlways: nothing; each batch waits for its fsync.
//   - SyncNever: what the operating system had not written back yet, often 30 s;
//     at most one segment.
//
// Log.Sync makes what was appended before it safe under every policy.
//
// # Offsets
//
// An offset of an epoch names one frame for ever. Offsets are reserved in blocks
// of 65,536, with one fsync, before the first of a block is given. After an
// unclean end each topic goes on at its next block. If frames may be missing,
// which is when the system went down too and the policy was not SyncAlways, or
// when the end of the log is damaged, lost becomes the start of that block: every
// older cursor is told so. If only the process died, lost stays and cursors go on.
//
// A topic of which nothing is kept is forgotten; it returns with a new epoch.
//
// After restoring an older copy of the directory, offsets already given could be
// given again, and no file can tell: start with an empty directory instead.
package filelog

import (
	"fmt"
	"log/slog"
	"time"
)

// SyncPolicy says when the log calls fsync. See the package comment for what
// each can lose.
type SyncPolicy int

// The policies.
const (
	SyncInterval SyncPolicy = iota // every Options.SyncEvery while there is something to sync
	SyncAlways                     // before an append returns
	SyncNever                      // only at the end of a segment, for a new block of offsets, in Sync and in Close
)

// String returns the policy's name: interval, always or never.
func (p SyncPolicy) String() string {
	switch p {
	case SyncInterval:
		return "interval"
	case SyncAlways:
		return "always"
	case SyncNever:
		return "never"
	}
	return fmt.Sprintf("policy(%d)", int(p))
}

// Options of Open. The zero value works: bounded by 1 GiB and 7 days.
type Options struct {
	Sync      SyncPolicy    // default SyncInterval
	SyncEvery time.Duration // with SyncInterval; default 50 ms

	// Bounds. Whole segments are deleted, oldest first.
	MaxBytes     int64         // of all files; default 1 GiB, -1 without bound
	MaxAge       time.Duration // frames live up to 9/8 of it; default 7 days, -1 without bound
	MaxFrames    int           // in all, bounds the index; default 8,000,000
	SegmentBytes int64         // default MaxBytes/16, at most 64 MiB; larger when the state of the topics fills a quarter of it

	// RetryWindow is the number of newest emit ids by which a repeated append is
	// known, also after a restart; default 65,536, -1 = none.
	RetryWindow int

	// DropDamaged opens a log although a segment is damaged before its end. What
	// follows the damage in that segment is gone, and lost says so. Default: Open
	// returns a *DamageError.
	DropDamaged bool

	Logger *slog.Logger // default: silent

	fs    fileSystem // default: the operating system's
	block uint64     // offsets reserved at once; default 65,536, tests use less
}

const (
	maxSegment = 1 << 30  // positions in a segment are 32 bits
	maxBatch   = 4 << 20  // bytes staged behind the write in flight before appends wait
	maxFrame   = 64 << 20 // bytes of one frame
	maxName    = 64 << 10 // bytes of a topic or an id
	pageBytes  = 4 << 20  // frames of one Range
)

func (o *Options) defaults() error {
	if o.Sync < SyncInterval || o.Sync > SyncNever {
		return fmt.Errorf("filelog: Options.Sync is %d; use SyncInterval, SyncAlways or SyncNever", int(o.Sync))
	}
	if o.SyncEvery <= 0 {
		o.SyncEvery = 50 * time.Millisecond
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.MaxAge == 0 {
		o.MaxAge = 7 * 24 * time.Hour
	}
	if o.MaxFrames <= 0 {
		o.MaxFrames = 8_000_000
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
		if o.MaxBytes > 0 {
			o.SegmentBytes = min(o.SegmentBytes, o.MaxBytes/16)
		}
	}
	if o.SegmentBytes < 0 || o.SegmentBytes > maxSegment || o.MaxBytes > 0 && o.SegmentBytes > o.MaxBytes/2 {
		return fmt.Errorf("filelog: Options.SegmentBytes is %d; it must be at most %d and half of MaxBytes (%d)", o.SegmentBytes, maxSegment, o.MaxBytes)
	}
	if o.RetryWindow == 0 {
		o.RetryWindow = 65_536
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.block == 0 {
		o.block = 65_536
	}
	if o.fs == nil {
		o.fs = osFS{}
	}
	return nil
}
