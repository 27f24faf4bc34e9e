package nova

import "github.com/ignex/nova/wire"

// UnknownMember stands for a member of a union that this schema does not have:
// a newer schema sent it. What it holds is not read, and it cannot be encoded.
type UnknownMember = wire.UnknownMember
