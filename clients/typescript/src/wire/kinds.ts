// Codecs of the kinds of field that many schemas do not have. They are
// functions, so that a bundle holds only those that its generated code imports.
import type { EnumCodec } from "./enums.js";
import type { Reader } from "./reader.js";
import { show } from "./writer.js";
import type { FieldName, Writer } from "./writer.js";

/** An int64 held by a bigint. */
export function writeBigInt(w: Writer, at: number, v: bigint, name: FieldName): void {
  if (typeof v !== "bigint") w.wrong(name, "a bigint", v);
  if (BigInt.asIntN(64, v) !== v) w.fail(name, `${v} does not fit into 64 bits`);
  w.view.setBigInt64(at, v, true);
}

export function readBigInt(r: Reader, id: number, name: string): bigint {
  const at = r.field(id, 8, name);
  return at === 0 ? 0n : r.view.getBigInt64(at, true);
}

export function writeEnum<E extends string>(w: Writer, at: number, v: E, codec: EnumCodec<E>, name: FieldName): void {
  const number = codec.toNumber(v) ?? w.fail(name, `${show(v)} is not a literal of ${codec.name}`);
  w.view.setInt32(at, number, true);
}

export function readEnum<E extends string>(r: Reader, id: number, codec: EnumCodec<E>, name: string): E {
  const at = r.field(id, 4, name);
  return codec.toLiteral(at === 0 ? 0 : r.view.getInt32(at, true));
}

export function writeBytes(w: Writer, slot: number, v: Uint8Array, name: string): void {
  if (!(v instanceof Uint8Array)) w.wrong(name, "a Uint8Array", v);
  const at = w.vector(slot, v.length, 1);
  new Uint8Array(w.view.buffer).set(v, at);
}

/** A copy, never a view into the frame. */
export function readBytes(r: Reader, id: number, name: string): Uint8Array {
  const at = r.vector(id, 1, name);
  if (at === 0) return new Uint8Array(0);
  const { buffer, byteOffset } = r.view;
  return new Uint8Array(buffer, byteOffset + at, r.count(at)).slice();
}

// Vectors.

export function writeFloat64s(w: Writer, slot: number, v: readonly number[], name: string): void {
  w.each(slot, v, 8, name, w.float64);
}

export function readFloat64s(r: Reader, id: number, name: string): number[] {
  return r.each(id, 8, name, (at) => r.view.getFloat64(at, true));
}

export function writeInt64s(w: Writer, slot: number, v: readonly number[], name: string): void {
  w.each(slot, v, 8, name, w.int64);
}

export function readInt64s(r: Reader, id: number, name: string): number[] {
  return r.each(id, 8, name, (at, i) => r.integer(at, i));
}

export function writeBigInts(w: Writer, slot: number, v: readonly bigint[], name: string): void {
  w.each(slot, v, 8, name, (at, x: bigint, i) => writeBigInt(w, at, x, i));
}

export function readBigInts(r: Reader, id: number, name: string): bigint[] {
  return r.each(id, 8, name, (at) => r.view.getBigInt64(at, true));
}

export function writeBools(w: Writer, slot: number, v: readonly boolean[], name: string): void {
  w.each(slot, v, 1, name, w.bool);
}

export function readBools(r: Reader, id: number, name: string): boolean[] {
  return r.each(id, 1, name, (at) => r.view.getUint8(at) !== 0);
}

export function writeEnums<E extends string>(w: Writer, slot: number, v: readonly E[], codec: EnumCodec<E>, name: string): void {
  w.each(slot, v, 4, name, (at, x: E, i) => writeEnum(w, at, x, codec, i));
}

export function readEnums<E extends string>(r: Reader, id: number, codec: EnumCodec<E>, name: string): E[] {
  return r.each(id, 4, name, (at) => codec.toLiteral(r.view.getInt32(at, true)));
}
