package filelog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// fileSystem is all that the log asks of the operating system, small enough for
// tests to put one in its place that fails, tears writes and loses power.
type fileSystem interface {
	MkdirAll(dir string) error
	// Open opens for reading and writing; create makes the file, or empties it.
	Open(name string, create bool) (file, error)
	List(dir string) ([]string, error) // base names
	Remove(name string) error
	Rename(from, to string) error
	// SyncDir makes created, renamed and removed names of dir durable.
	SyncDir(dir string) error
	// Lock takes the lock file for this process, until it is closed or the process
	// ends; errLocked when another has it.
	Lock(name string) (io.Closer, error)
	// Boot names the run of the operating system; "" = unknown.
	Boot() string
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Size() (int64, error)
}

// ErrLocked is returned by Open when another Log, of this process or of another,
// has the directory.
var ErrLocked = errors.New("filelog: the directory is in use by another log; close that one or use another directory")

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o750) }

func (osFS) Open(name string, create bool) (file, error) {
	flag := os.O_RDWR
	if create {
		flag |= os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(filepath.Clean(name), flag, 0o640)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (osFS) Remove(name string) error     { return os.Remove(name) }
func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

// Boot reads Linux's name of the boot; the cache of written pages lives as long.
func (osFS) Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
