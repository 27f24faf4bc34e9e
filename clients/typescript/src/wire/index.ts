// The runtime that generated code imports: bytes in, values out, no I/O.
export * from "./descriptor.js";
export * from "./enums.js";
export * from "./envelope.js";
export { DecodeError, EncodeError, FrameError } from "./errors.js";
export type { FrameCause } from "./errors.js";
export * from "./kinds.js";
export * from "./numbers.js";
export { Reader } from "./reader.js";
export type { UnsafeInt64 } from "./reader.js";
export { defineFields, defineTable, defineTextEvent } from "./table.js";
export type { Table, TableSpec } from "./table.js";
export * from "./union.js";
export * from "./valid.js";
export * from "./format.js";
export { MAX_DEPTH, Writer } from "./writer.js";

/**
 * Generated code refers to it, so that code made for another generation of
 * this runtime does not compile.
 */
export const GENERATED_V1 = 1;
