package syntax

//nova:event a
type A struct {
	X int,
}
