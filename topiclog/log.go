// Package topiclog keeps the frames of topics so that a subscriber can go on
// where it left off. Log is the interface; Memory is the implementation that
// lives as long as the process. Package logtest holds the tests every
// implementation passes.
package topiclog

import (
	"context"
	"errors"
)

// ErrClosed is returned by every method of a closed log.
var ErrClosed = errors.New("topiclog: the log is closed")

// ErrEpoch is returned by Range when the log has no such epoch of the topic.
var ErrEpoch = errors.New("topiclog: the topic has another epoch")

// Entry is one frame of a topic.
type Entry struct {
	Topic  string
	Epoch  string
	Offset uint64 // increasing within an epoch, from 1, not necessarily dense
	ID     string // of the emit; a repeated id is the same entry
	Except string // the client that must not get it, "" = nobody; AppendAll keeps it
	Frame  []byte // as published: unnumbered, without trailer
}

// Log keeps frames per topic. All methods may be called from any goroutine; the
// caller must not change what it is given.
//
// In one epoch an offset names one frame for ever.
type Log interface {
	// Append adds a copy of frame and returns its offset. An id, when not empty,
	// makes a retry harmless: appending it again yields the first offset, as long
	// as the log remembers it.
	Append(ctx context.Context, topic, id string, frame []byte) (offset uint64, err error)
	// Range returns at most limit entries behind the offset after, in order, and
	// lost, the highest offset that can no longer be given: lost > after means
	// that some are missing. An epoch that is not the topic's is ErrEpoch.
	Range(ctx context.Context, topic, epoch string, after uint64, limit int) (entries []Entry, lost uint64, err error)
	// Head returns the topic's epoch, lost as Range does, and head, which no entry's
	// offset exceeds. A cursor n of the epoch can be served whole exactly when
	// lost ≤ n ≤ head. Head never falls in an epoch. A topic without entries has
	// epoch "".
	Head(ctx context.Context, topic string) (epoch string, lost, head uint64, err error)
	// Tail calls fn with every entry appended from now on, in the order of each
	// topic, until ctx ends, which is then its error, or the log is closed. fn must
	// not call the log. A slow fn makes appends wait.
	Tail(ctx context.Context, fn func(Entry)) error
	// Close ends the log and its tails. Calling it again returns ErrClosed.
	Close() error
}

// Batcher is a Log that adds many entries with one write.
type Batcher interface {
	// AppendAll appends each entry's Frame and Except, in order, to its Topic under
	// its ID as Append does, and sets Epoch and Offset. After an error none may be taken as
	// appended; with ids it can be repeated.
	AppendAll(ctx context.Context, entries []Entry) error
}

// Syncer is a Log whose Append may return before the entry is safe from a power
// failure.
type Syncer interface {
	// Sync returns when every entry whose Append has returned is safe.
	Sync(ctx context.Context) error
}
