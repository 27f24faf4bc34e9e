import { defineEvent } from "./descriptor.js";
import type { EventDescriptor } from "./descriptor.js";
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
  /** It stands for a value that need not be an object. */
  box?: boolean;
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

/**
 * Makes a table from a text, "property:method ...", in the order of field ids,
 * where no method is string:
 * much smaller than code, and slower. For tables without absent-able fields and
 * enums. The layout is the generator's: 8-byte fields first, then 4-byte slots,
 * then bools, and where there are 8-byte fields the hole before them is filled
 * with the first slot, else with bools.
 * @param inner table of its fields that hold tables
 */
export function defineFields<T>(text: string, inner?: Table<any>): Table<T> {
  const fields = text.split(" ").map((f) => `${f}:string`.split(":") as [string, "string"]);
  const offsets: number[] = [];
  let inline = 4;
  const place = (size: number, end: number) => {
    fields.forEach(([, method], i) => {
      if (sizeOf(method) !== size || offsets[i] || inline >= end) return;
      offsets[i] = inline;
      inline += size;
    });
  };
  const wide = /:int64/.test(text);
  for (const size of [4, 1]) place(size, 8);
  if (wide) inline = 8;
  for (const size of [8, 4, 1]) place(size, Infinity);
  const args = (name: string, method: string) => (/^struct/.test(method) ? [inner, name] : [name]) as [string];
  return defineTable<T>({
    name: text, align: wide ? 8 : 4, inline, offsets, absent: false,
    encode: (w, t, v: any) => fields.forEach(([name, method], i) => w[method](t + offsets[i]!, v[name], ...args(name, method))),
    decode: (r) => Object.fromEntries(fields.map(([name, method], id) => [name, r[method](id, ...args(name, method))])) as T,
  });
}

/** Makes the descriptor of an event that has every default and a table made from a text. */
export function defineTextEvent<T>(name: string, text: string, inner?: Table<any>): EventDescriptor<T> {
  return defineEvent({ name, table: defineFields<T>(text, inner) });
}

const sizeOf = (method: string) => (method === "int64" ? 8 : method === "bool" ? 1 : 4);
