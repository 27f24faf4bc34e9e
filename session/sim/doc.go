// Package sim is what the simulators of packages session and hub share: programs
// of steps that one seed decides, their shrinking, and a scanner of the bytes a
// server writes. Only tests import it.
//
// A simulator runs a program against the real code and a hostile network with a
// fake clock, and checks the rules of delivery (docs/protocol.md, "Numbers and
// resume") after every step. A failing program is shrunk and printed as one line
// that replays it.
package sim
