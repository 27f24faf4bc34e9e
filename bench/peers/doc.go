// Package peers compares nova with other fan-out servers: each sample is a fresh
// server process on one processor and a fresh load client on another, the peers
// take turns, and what counts are the ratios within one round.
package peers
