package nova

// TargetKind says what a Target names.
type TargetKind uint8

// The kinds of targets.
const (
	ToBroadcast TargetKind = iota
	ToTopic
	ToTopics
	ToGroup
	ToUser
	ToUserGroup
	ToClient
)

// Target is who receives a publish. The zero value is everyone.
type Target struct {
	Kind   TargetKind
	Name   string   // of the topic, group, user, user group or client
	Names  []string // of ToTopics
	Except string   // id of a client that is left out, "" = nobody
}

// Broadcast targets every client.
func Broadcast() Target { return Target{} }

// Topic targets the subscribers of one topic; topic history keeps the event.
func Topic(name string) Target { return Target{Kind: ToTopic, Name: name} }

// Topics targets several topics at once: a client in several of them receives
// the event once per topic.
func Topics(names ...string) Target { return Target{Kind: ToTopics, Names: names} }

// Group targets the members of a server-side group; groups have no history.
func Group(name string) Target { return Target{Kind: ToGroup, Name: name} }

// User targets every session of one user.
func User(id string) Target { return Target{Kind: ToUser, Name: id} }

// UserGroup targets every session of the users in a group of users.
func UserGroup(name string) Target { return Target{Kind: ToUserGroup, Name: name} }

// ClientID targets one client by its id.
func ClientID(id string) Target { return Target{Kind: ToClient, Name: id} }

// But returns the target without the client of that id.
func (t Target) But(clientID string) Target {
	t.Except = clientID
	return t
}
