package topiclog_test

import (
	"testing"

	"github.com/ignex/nova/internal/leak"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/topiclog/logtest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestMemory(t *testing.T) {
	logtest.Run(t, logtest.Backend{Open: func(_ *testing.T, maxFrames int) topiclog.Log {
		return topiclog.NewMemory(topiclog.MemoryOptions{MaxFrames: maxFrames})
	}, Batches: true})
}

func TestMemoryTotal(t *testing.T) {
	log := topiclog.NewMemory(topiclog.MemoryOptions{MaxBytes: 1000})
	for range 50 {
		if _, err := log.Append(t.Context(), "t", "", make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	_, lost, head, err := log.Head(t.Context(), "t")
	if err != nil || head-lost != 10 {
		t.Errorf("kept %d entries of 100 bytes in 1000 bytes, %v", head-lost, err)
	}
}
