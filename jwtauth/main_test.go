package jwtauth_test

import (
	"testing"

	"github.com/ignex/nova/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
