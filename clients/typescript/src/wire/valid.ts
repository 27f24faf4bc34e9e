// What generated validators need. They look at values of their type: what the
// Reader has made, or what the Writer takes.
import type { EnumCodec } from "./enums.js";
import type { Table } from "./table.js";
import { Writer } from "./writer.js";

/** The first value that breaks a constraint of its schema. */
export interface Invalid {
  /** JSON pointer (RFC 6901) of the value, "" = the whole value. */
  readonly pointer: string;
  /** What the value must be. */
  readonly message: string;
}

export function invalid(pointer: string, message: string): Invalid {
  return { pointer, message };
}

/** Moves a find below the value at `pointer`. */
export function under(pointer: string, found: Invalid): Invalid {
  return { pointer: pointer + found.pointer, message: found.message };
}

/** The pointer of a property or key inside its object. */
export function pointer(key: string): string {
  return "/" + key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Code points, as minLength and maxLength count. */
export function characters(s: string): number {
  let n = s.length;
  for (let i = 0; i < s.length; i++) {
    if (s.charCodeAt(i) >>> 10 === 0x36 && s.charCodeAt(i + 1) >>> 10 === 0x37) n--;
  }
  return n;
}

/** Whether a literal is one of the schema, not `unknown:7` nor one that was removed. */
export function isLiteral<E extends string>(codec: EnumCodec<E>, literal: E, ...removed: string[]): boolean {
  return codec.toNumber(literal) !== undefined && !literal.startsWith("unknown:") && !removed.includes(literal);
}

/** Whether no element stands twice; elements are equal when their bytes are. */
export function unique<T>(list: readonly T[], table: Table<T>): boolean {
  const writer = new Writer();
  return new Set(list.map((v) => writer.payload(table, v).join())).size === list.length;
}
