package directives

//nova:event orphan

//nova:evnt typo
type A struct{}

// nova:event spaced
type B struct{}

//nova:event
type C struct{}

//nova:event fine delivry=latest
//nova:event fine2 delivery=sometimes
//nova:event fine3 key
//nova:event fine4 inbound=maybe
//nova:event fine5 inbound inbound
//nova:event fine5
//nova:event fine5
type D struct{}

//nova:event list
type E []int

//nova:call get
//nova:call get A Nothing
//nova:call set A int
//nova:call set A A
//nova:call put E A

//nova:union kind
type U interface{ NovaUnion() }

//nova:union kind a=
type V interface{ NovaUnion() }

//nova:union kind a=A x=Nothing
type W interface{ String() string }

//nova:union kind a=Tagged
type X interface{ NovaUnion() }

type Tagged struct {
	Kind string `json:"kind"`
}

//nova:event unions
type F struct {
	W W
	X X
	U U
}

//nova:union kind a=A b=B
type S struct{}

//nova:event low
type low struct{}

//nova:event none
type None Nowhere
