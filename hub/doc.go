// Package hub decides who gets what: topics with history, groups, users, clients
// and handlers. Without a cluster it is a complete single-node system. It knows
// neither sockets nor other nodes: what it needs of them is Peer and Cluster.
//
// Applications use Hub with Options, and nova.Client for one client. Session, Burst, Due,
// Peer, Caps, Terms and SubscribeRequest are for package server, and for other ways to
// bring clients in; Cluster is what connects nodes.
//
// The flow of one publish: PublishFrame copies the frame once and, under the
// target's lock, appends it to the inbox of each shard that has a member. The
// shard's loop takes all that is pending, moves it as batches into the members'
// queues, and calls Peer.Flush once per client.
package hub
