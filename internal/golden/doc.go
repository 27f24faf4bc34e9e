// Package golden judges nova's bytes by other people's tools. Tests use it:
//
//   - [Verifier]: the FlatBuffers C++ verifier, from Debian's libflatbuffers-dev;
//   - [PrintJSON]: `flatc --json`, which prints what a buffer holds;
//   - [Build] and [Read]: google/flatbuffers for Go, its builder and accessors;
//   - [Node]: npm's flatbuffers with the classes of `flatc --ts`, beside the code
//     that nova generates for TypeScript.
//
// All speak of one plain form of a message, [Value], which knows no codec.
package golden
