package filelog_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ignex/nova/topiclog/filelog"
)

// simFS is a disk behind a page cache. What was not synced may be lost with the
// power, page by page; names too, until their directory is synced. A failed fsync
// leaves its pages clean although they are not on the disk, as Linux does.
type simFS struct {
	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode
	journal []func(names map[string]*inode) // changes of names since the last SyncDir
	life    int                             // handles of an earlier life are dead
	boot    string
	locked  bool

	space    int64 // bytes that files may still grow by; below 0 = any
	syncFail bool
	noCut    bool // Truncate fails
}

const page = 64 // small, so that little data has many

type inode struct {
	data   []byte
	disk   []byte
	dirty  map[int]struct{} // pages
	resize bool             // the size of the disk's version is older
}

var (
	errDead = errors.New("the process of this handle has died")
	errIO   = errors.New("input/output error")
)

func newSim() *simFS {
	return &simFS{names: map[string]*inode{}, durable: map[string]*inode{}, boot: "1", space: -1}
}

// kill ends the process: the cache stays.
func (s *simFS) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.locked, s.syncFail, s.noCut, s.space = false, false, false, -1
}

// powerLoss ends the system. keep is how much of what was not synced survives by
// chance; 0 = nothing.
func (s *simFS) powerLoss(r *rand.Rand, keep float64) {
	s.kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot += "+"
	if keep > 0 && len(s.journal) > 0 {
		for _, change := range s.journal[:r.IntN(len(s.journal)+1)] {
			change(s.durable)
		}
	}
	s.journal = nil
	s.names = maps.Clone(s.durable)
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		n := s.names[name]
		if keep > 0 && r.Float64() < keep {
			n.setDiskSize()
		}
		for _, p := range slices.Sorted(maps.Keys(n.dirty)) {
			if keep > 0 && r.Float64() < keep {
				n.flush(p)
			}
		}
		n.data, n.dirty, n.resize = slices.Clone(n.disk), map[int]struct{}{}, false
	}
}

func (n *inode) setDiskSize() {
	if len(n.disk) < len(n.data) {
		n.disk = append(n.disk, make([]byte, len(n.data)-len(n.disk))...)
	}
	n.disk = n.disk[:len(n.data)]
	n.resize = false
}

// flush brings one page to the disk, as far as the size there goes.
func (n *inode) flush(p int) {
	start := p * page
	if start < len(n.data) && start < len(n.disk) {
		copy(n.disk[start:min(start+page, len(n.disk))], n.data[start:])
	}
}

func (n *inode) touch(from, to int) {
	for p := from / page; p*page < to; p++ {
		n.dirty[p] = struct{}{}
	}
}

// bytes returns a copy of a file, and put replaces one, durably.
func (s *simFS) bytes(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names[name].data)
}

func (s *simFS) put(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &inode{data: slices.Clone(data), disk: slices.Clone(data), dirty: map[int]struct{}{}}
	s.names[name], s.durable[name] = n, n
}

func (s *simFS) set(space int64, syncFail, noCut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.space, s.syncFail, s.noCut = space, syncFail, noCut
}

// segments returns the paths of the segment files, oldest first.
func (s *simFS) segments() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.names {
		if strings.HasSuffix(name, ".seg") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// process is what one process sees of the disk, until it is killed.
type process struct {
	*simFS
	life int
}

func (s *simFS) process() process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return process{s, s.life}
}

// enter locks the disk, for a process that lives.
func (s process) enter() error {
	s.mu.Lock()
	if s.life != s.simFS.life {
		s.mu.Unlock()
		return errDead
	}
	return nil
}

func (s process) MkdirAll(string) error { return nil }
func (s process) Boot() string          { return s.boot }

func (s process) Open(name string, create bool) (filelog.File, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	n := s.names[name]
	switch {
	case n == nil && !create:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case n == nil:
		if s.space == 0 {
			return nil, syscall.ENOSPC
		}
		n = &inode{dirty: map[int]struct{}{}}
		s.change(func(names map[string]*inode) { names[name] = n })
	case create:
		n.data, n.resize = nil, true
	}
	return &simFile{fs: s.simFS, inode: n, life: s.life}, nil
}

func (s process) change(f func(names map[string]*inode)) {
	f(s.names)
	s.journal = append(s.journal, f)
}

func (s process) List(dir string) (names []string, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for name := range s.names {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

func (s process) Remove(name string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	s.change(func(names map[string]*inode) { delete(names, name) })
	return nil
}

func (s process) Rename(from, to string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	n := s.names[from]
	s.change(func(names map[string]*inode) { delete(names, from); names[to] = n })
	return nil
}

func (s process) SyncDir(string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.syncFail {
		return errIO
	}
	for _, change := range s.journal {
		change(s.durable)
	}
	s.journal = nil
	return nil
}

type simLock struct {
	fs   *simFS
	life int
}

func (s process) Lock(string) (io.Closer, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.locked {
		return nil, filelog.ErrLocked
	}
	s.locked = true
	return &simLock{s.simFS, s.life}, nil
}

func (l *simLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.life == l.fs.life {
		l.fs.locked = false
	}
	return nil
}

type simFile struct {
	fs    *simFS
	inode *inode
	life  int
}

func (f *simFile) lock() error {
	f.fs.mu.Lock()
	if f.life != f.fs.life {
		f.fs.mu.Unlock()
		return errDead
	}
	return nil
}

func (f *simFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.lock(); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	if len(b) > 0 && at >= int64(len(f.inode.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.inode.data[min(at, int64(len(f.inode.data))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *simFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.lock(); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	var failed error
	grow := at + int64(len(b)) - int64(len(f.inode.data))
	if f.fs.space >= 0 && grow > f.fs.space {
		b = b[:max(int64(len(b))-(grow-f.fs.space), 0)]
		grow, failed = f.fs.space, syscall.ENOSPC
	}
	if f.fs.space >= 0 && grow > 0 {
		f.fs.space -= grow
	}
	if grow > 0 && len(b) > 0 {
		f.inode.data = append(f.inode.data, make([]byte, grow)...)
		f.inode.resize = true
	}
	copy(f.inode.data[min(at, int64(len(f.inode.data))):], b)
	f.inode.touch(int(at), int(at)+len(b))
	return len(b), failed
}

func (f *simFile) Truncate(size int64) error {
	if err := f.lock(); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	if f.fs.noCut {
		return errIO
	}
	if size < int64(len(f.inode.data)) {
		f.inode.data = f.inode.data[:size]
	}
	f.inode.resize = true
	return nil
}

func (f *simFile) Sync() error {
	if err := f.lock(); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	failed := f.fs.syncFail
	if !failed {
		f.inode.setDiskSize()
		for p := range f.inode.dirty {
			f.inode.flush(p)
		}
	}
	clear(f.inode.dirty)
	if failed {
		return errIO
	}
	return nil
}

func (f *simFile) Size() (int64, error) {
	if err := f.lock(); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	return int64(len(f.inode.data)), nil
}

func (f *simFile) Close() error { return nil }
