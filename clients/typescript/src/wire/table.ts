import type { Reader } from "./reader.js";
import type { Writer } from "./writer.js";

/** How the fields of a table stand in bytes, and its two functions. */
export interface TableSpec<T> {
  /** Name in the schema, for messages. */
  name: string;
  /** 8 when the table holds an 8-byte value, else 4. */
  align: 4 | 8;
  /** Bytes of the inline part, its 4-byte soffset included. */
  inline: number;
  /** Inline offset of each field by id; 0 = deprecated. */
  offsets: readonly number[];
  /** Some field can be absent, so that the vtable differs between values. */
  absent: boolean;
  /** Writes the fields of v into the table at index t and appends what they refer to. */
  encode(w: Writer, t: number, v: T): void;
  /** Reads the table the reader has entered. */
  decode(r: Reader): T;
}

/** A table of the schema, ready for Writer and Reader. */
export interface Table<T> extends TableSpec<T> {
  /** The complete vtable as 16-bit words. */
  readonly vtable: Uint16Array;
  /** Bytes of the vtable. */
  readonly vtableLen: number;
}

/** Makes a table from what the generator computed. */
export function defineTable<T>(spec: TableSpec<T>): Table<T> {
  const vtableLen = 4 + 2 * spec.offsets.length;
  return { ...spec, vtableLen, vtable: Uint16Array.of(vtableLen, spec.inline, ...spec.offsets) };
}
