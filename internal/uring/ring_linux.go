package uring

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The numbers of the kernel's interface, <linux/io_uring.h>.
const (
	opSend        = 26
	getEvents     = 1
	offRings      = 0
	offEntries    = 0x10000000
	oneMapping    = 1 << 0  // both rings are one mapping, 5.4
	linkedFile    = 1 << 12 // 5.17: far behind the releases that sent from worker threads
	entrySize     = 64
	completedSize = 16
)

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, threadCPU, threadIdle, features, wqFD uint32
	_                                                                  [3]uint32
	sq                                                                 struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// entry is struct io_uring_sqe.
type entry struct {
	op       uint8
	_        uint8
	_        uint16
	fd       int32
	_        uint64
	addr     uint64
	len      uint32
	msgFlags uint32
	user     uint64
	_        [3]uint64
}

// completed is struct io_uring_cqe.
type completed struct {
	user  uint64
	res   int32
	flags uint32
}

// Ring is an io_uring. It is used by one goroutine at a time.
type Ring struct {
	fd       int
	rings    []byte
	memory   []byte
	sqHead   *uint32
	sqTail   *uint32
	cqHead   *uint32
	cqTail   *uint32
	cqMask   uint32
	entries  []entry
	finished []completed
}

// New makes a ring for at most size sends at a time, a power of two. It fails where
// the system has none, is older than Linux 5.17, or forbids it, as many containers do.
func New(size int) (*Ring, error) {
	var p params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(size), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	r := &Ring{fd: int(fd)}
	if p.features&oneMapping == 0 || p.features&linkedFile == 0 {
		r.Close()
		return nil, fmt.Errorf("io_uring of this kernel is too old: %w", syscall.ENOSYS)
	}
	if err := r.mapMemory(&p); err != nil {
		r.Close()
		return nil, fmt.Errorf("io_uring: mmap: %w", err)
	}
	return r, nil
}

func (r *Ring) mapMemory(p *params) (err error) {
	size := max(int(p.sq.array+4*p.sqEntries), int(p.cq.cqes+completedSize*p.cqEntries))
	if r.rings, err = r.mmap(offRings, size); err != nil {
		return err
	}
	if r.memory, err = r.mmap(offEntries, entrySize*int(p.sqEntries)); err != nil {
		return err
	}
	at := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[offset])) }
	r.sqHead, r.sqTail, r.cqHead, r.cqTail, r.cqMask = at(p.sq.head), at(p.sq.tail), at(p.cq.head), at(p.cq.tail), *at(p.cq.mask)
	r.entries = unsafe.Slice((*entry)(unsafe.Pointer(&r.memory[0])), p.sqEntries)
	r.finished = unsafe.Slice((*completed)(unsafe.Pointer(&r.rings[p.cq.cqes])), p.cqEntries)
	for i := range p.sqEntries {
		*at(p.sq.array + 4*i) = i // each place of the queue has its own entry
	}
	return nil
}

func (r *Ring) mmap(offset int64, size int) ([]byte, error) {
	return unix.Mmap(r.fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// Close gives the ring back to the system.
func (r *Ring) Close() {
	for _, m := range [][]byte{r.rings, r.memory} {
		if m != nil {
			_ = unix.Munmap(m) // of what was mapped
		}
	}
	_ = unix.Close(r.fd) // nothing is under way
}

// Size returns the most sends of one Send.
func (r *Ring) Size() int { return len(r.entries) }

// Send makes all the sends of list, in order. It does not wait for sockets: those
// that have no room take nothing. What the kernel, short of memory, did not begin
// took nothing either.
func (r *Ring) Send(list []Send) {
	tail := *r.sqTail
	for i := range list {
		s := &list[i]
		s.N, s.Err = 0, nil
		r.entries[int(tail+uint32(i))&(len(r.entries)-1)] = entry{
			op: opSend, fd: int32(s.FD), user: uint64(i),
			addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.Data)))), len: uint32(len(s.Data)),
			msgFlags: unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL,
		}
	}
	atomic.StoreUint32(r.sqTail, tail+uint32(len(list)))
	left := len(list)
	for left > 0 {
		n, errno := r.enter(left, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n == 0 {
			break
		}
		left -= n
	}
	if left > 0 {
		atomic.StoreUint32(r.sqTail, atomic.LoadUint32(r.sqHead))
	}
	for missing := len(list) - left; ; {
		if missing -= r.reap(list); missing == 0 {
			break
		}
		_, _ = r.enter(0, missing) // an interrupted wait looks again
	}
	runtime.KeepAlive(list)
}

// enter hands over entries and waits for completions.
func (r *Ring) enter(submit, wait int) (int, syscall.Errno) {
	flags := 0
	if wait > 0 {
		flags = getEvents
	}
	n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(submit), uintptr(wait), uintptr(flags), 0, 0)
	return int(n), errno
}

// reap takes completions and returns how many there were.
func (r *Ring) reap(list []Send) int {
	head, tail := *r.cqHead, atomic.LoadUint32(r.cqTail)
	n := int(tail - head)
	for ; head != tail; head++ {
		c := &r.finished[head&r.cqMask]
		s := &list[c.user]
		switch errno := syscall.Errno(-c.res); {
		case c.res >= 0:
			s.N = int(c.res)
		case errno != unix.EAGAIN && errno != unix.EINTR:
			s.Err = errno
		}
	}
	atomic.StoreUint32(r.cqHead, head)
	return n
}
