module github.com/ignex/nova/bench

go 1.26.0

require (
	github.com/google/flatbuffers v25.12.19+incompatible
	github.com/ignex/nova v0.0.0
	github.com/planetscale/vtprotobuf v0.6.0
	github.com/tinylib/msgp v1.6.5
	google.golang.org/protobuf v1.36.12
)

require github.com/philhofer/fwd v1.2.0 // indirect

replace github.com/ignex/nova => ../
