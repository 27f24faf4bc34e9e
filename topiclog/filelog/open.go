package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// DamageError says that bytes on the disk are not those that were written.
type DamageError struct {
	File   string
	Offset int64 // of the record in the file
	Cause  error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %v; restore the file, or set Options.DropDamaged to go on without the rest of it", e.File, e.Offset, e.Cause)
}

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Cause }

// Open opens the log in dir, which it creates if needed, and reads all of it once
// to build the index. Errors: ErrLocked, *DamageError, another format version, or
// what the file system says.
func Open(ctx context.Context, dir string, options Options) (*Log, error) {
	if dir == "" {
		return nil, errors.New("filelog: open: the directory has no name")
	}
	if err := options.defaults(); err != nil {
		return nil, err
	}
	l := &Log{
		dir: dir, options: options,
		topics: map[string]*topic{}, ids: newIDs(options.RetryWindow), tails: map[*tail]struct{}{},
		wake: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
		toSync: make(chan file, 1), syncDone: make(chan error, 1),
	}
	if err := l.open(ctx); err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.file.Close())
		}
		if l.lock != nil {
			err = errors.Join(err, l.lock.Close())
		}
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w (this process must be able to write there)", err)
		}
		return nil, fmt.Errorf("filelog: open %s: %w", dir, err)
	}
	l.syncTimer = time.NewTimer(time.Hour)
	l.syncTimer.Stop()
	l.work.Go(l.run)
	l.work.Go(l.sync)
	return l, nil
}

func (l *Log) open(ctx context.Context) (err error) {
	fsys := l.options.fs
	if err := fsys.MkdirAll(l.dir); err != nil {
		return err
	}
	if l.lock, err = fsys.Lock(filepath.Join(l.dir, lockName)); err != nil {
		return err
	}
	before, err := readState(fsys, l.dir)
	if err != nil {
		return err
	}
	numbers, err := l.list()
	if err != nil {
		return err
	}
	if before != nil && before.Clean { // a segment that was begun in vain
		for len(numbers) > 0 && numbers[len(numbers)-1] > before.Segment {
			if err := fsys.Remove(segmentName(l.dir, numbers[len(numbers)-1])); err != nil {
				return err
			}
			numbers = numbers[:len(numbers)-1]
		}
	}
	in := newLoader(l, before)
	if err := in.load(ctx, numbers); err != nil {
		return err
	}
	clean := in.clean && !in.dropped
	if !clean {
		missing := in.suspect || in.dropped || mayMiss(before, fsys.Boot())
		l.options.Logger.Warn("filelog: the last run did not end cleanly; offsets go on at the next block",
			"dir", l.dir, "cut", in.cut, "missing", missing)
		for _, t := range l.topics {
			t.jump(missing)
		}
	}
	l.forget()
	if err := l.start(clean, in.next); err != nil {
		return err
	}
	if err := writeState(fsys, l.dir, runState{Boot: fsys.Boot(), Sync: l.options.Sync.String()}); err != nil {
		return err
	}
	l.discard()
	return nil
}

// start takes the active segment: the last one, or a new one that carries the
// state of the topics after an unclean end.
func (l *Log) start(clean bool, next uint64) error {
	if clean && len(l.segments) > 0 {
		s := l.segments[len(l.segments)-1]
		l.segments = l.segments[:len(l.segments)-1]
		l.begin(s)
		return nil
	}
	if n := len(l.segments); n > 0 {
		// From here on it is behind the active segment, where nothing may be torn.
		if err := settle(l.segments[n-1]); err != nil {
			return err
		}
	}
	s, err := createSegment(l.options.fs, l.dir, next, l.state(nil))
	if err != nil {
		return err
	}
	l.begin(s)
	return nil
}

// settle makes a segment durable whose run did not end cleanly. An fsync of that
// run may have failed, after which the system calls pages clean that are not on
// the disk: so all of them are written again before the fsync.
func settle(s *segment) error {
	buf := make([]byte, min(s.size, 1<<20))
	for at := int64(0); at < s.size; {
		n := min(s.size-at, int64(len(buf)))
		_, err := s.file.ReadAt(buf[:n], at)
		if err == nil {
			_, err = s.file.WriteAt(buf[:n], at)
		}
		if err != nil {
			return fmt.Errorf("write again %s: %w", s.name, err)
		}
		at += n
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.name, err)
	}
	return nil
}

// mayMiss reports whether acknowledged frames may be gone without a trace after
// an unclean end: not if each was synced, and not if the system still runs that
// the writes were given to.
func mayMiss(before *runState, boot string) bool {
	if before == nil {
		return true
	}
	return before.Sync != SyncAlways.String() && (boot == "" || before.Boot != boot)
}

// list returns the numbers of the segments, in order, and removes what a crash
// left of a state file.
func (l *Log) list() (numbers []uint64, err error) {
	names, err := l.options.fs.List(l.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == tempName {
			if err := l.options.fs.Remove(filepath.Join(l.dir, name)); err != nil {
				return nil, err
			}
		}
		if n, ok := segmentNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}
