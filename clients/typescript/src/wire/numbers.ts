// Codecs of the numbers besides int64 and double, for the schemas that have them.
import type { Reader } from "./reader.js";
import type { FieldName, Writer } from "./writer.js";

type Write<V> = (w: Writer, at: number, v: V, name: FieldName) => void;
type Read<V> = (r: Reader, id: number, name: string) => V;
type WriteAll<V> = (w: Writer, slot: number, v: readonly V[], name: string) => void;
type ReadAll<V> = (r: Reader, id: number, name: string) => V[];
type Get<V> = (view: DataView, at: number) => V;

function integer(low: number, high: number, set: (view: DataView, at: number, v: number) => void): Write<number> {
  return (w, at, v, name) => {
    if (typeof v !== "number") w.wrong(name, "an integer", v);
    if (!Number.isInteger(v)) w.fail(name, `${v} is not an integer`);
    if (v < low || v > high) w.fail(name, `${v} is not within ${low} and ${high}`);
    set(w.view, at, v);
  };
}

function single<V>(size: number, zero: V, get: Get<V>): Read<V> {
  return (r, id, name) => {
    const at = r.field(id, size, name);
    return at === 0 ? zero : get(r.view, at);
  };
}

function writeAll<V>(size: number, write: Write<V>): WriteAll<V> {
  return (w, slot, v, name) => w.each(slot, v, size, name, (at, x: V, i) => write(w, at, x, i));
}

function readAll<V>(size: number, get: Get<V>): ReadAll<V> {
  return (r, id, name) => r.each(id, size, name, (at) => get(r.view, at));
}

const int8: Get<number> = (view, at) => view.getInt8(at);
export const writeInt8: Write<number> = /* #__PURE__ */ integer(-128, 127, (view, at, v) => view.setInt8(at, v));
export const readInt8: Read<number> = /* #__PURE__ */ single(1, 0, int8);
export const writeInt8s: WriteAll<number> = /* #__PURE__ */ writeAll(1, writeInt8);
export const readInt8s: ReadAll<number> = /* #__PURE__ */ readAll(1, int8);

const uint8: Get<number> = (view, at) => view.getUint8(at);
export const writeUint8: Write<number> = /* #__PURE__ */ integer(0, 255, (view, at, v) => view.setUint8(at, v));
export const readUint8: Read<number> = /* #__PURE__ */ single(1, 0, uint8);
export const writeUint8s: WriteAll<number> = /* #__PURE__ */ writeAll(1, writeUint8);
export const readUint8s: ReadAll<number> = /* #__PURE__ */ readAll(1, uint8);

const int16: Get<number> = (view, at) => view.getInt16(at, true);
export const writeInt16: Write<number> = /* #__PURE__ */ integer(-32768, 32767, (view, at, v) => view.setInt16(at, v, true));
export const readInt16: Read<number> = /* #__PURE__ */ single(2, 0, int16);
export const writeInt16s: WriteAll<number> = /* #__PURE__ */ writeAll(2, writeInt16);
export const readInt16s: ReadAll<number> = /* #__PURE__ */ readAll(2, int16);

const uint16: Get<number> = (view, at) => view.getUint16(at, true);
export const writeUint16: Write<number> = /* #__PURE__ */ integer(0, 65535, (view, at, v) => view.setUint16(at, v, true));
export const readUint16: Read<number> = /* #__PURE__ */ single(2, 0, uint16);
export const writeUint16s: WriteAll<number> = /* #__PURE__ */ writeAll(2, writeUint16);
export const readUint16s: ReadAll<number> = /* #__PURE__ */ readAll(2, uint16);

const int32: Get<number> = (view, at) => view.getInt32(at, true);
export const writeInt32: Write<number> = /* #__PURE__ */ integer(-2147483648, 2147483647, (view, at, v) => view.setInt32(at, v, true));
export const readInt32: Read<number> = /* #__PURE__ */ single(4, 0, int32);
export const writeInt32s: WriteAll<number> = /* #__PURE__ */ writeAll(4, writeInt32);
export const readInt32s: ReadAll<number> = /* #__PURE__ */ readAll(4, int32);

const uint32: Get<number> = (view, at) => view.getUint32(at, true);
export const writeUint32: Write<number> = /* #__PURE__ */ integer(0, 4294967295, (view, at, v) => view.setUint32(at, v, true));
export const readUint32: Read<number> = /* #__PURE__ */ single(4, 0, uint32);
export const writeUint32s: WriteAll<number> = /* #__PURE__ */ writeAll(4, writeUint32);
export const readUint32s: ReadAll<number> = /* #__PURE__ */ readAll(4, uint32);

const uint64: Get<bigint> = (view, at) => view.getBigUint64(at, true);
export const writeUint64: Write<bigint> = (w, at, v, name) => {
  if (typeof v !== "bigint") w.wrong(name, "a bigint", v);
  if (BigInt.asUintN(64, v) !== v) w.fail(name, `${v} is negative or does not fit into 64 bits`);
  w.view.setBigUint64(at, v, true);
};
export const readUint64: Read<bigint> = /* #__PURE__ */ single(8, 0n, uint64);
export const writeUint64s: WriteAll<bigint> = /* #__PURE__ */ writeAll(8, writeUint64);
export const readUint64s: ReadAll<bigint> = /* #__PURE__ */ readAll(8, uint64);

const float32: Get<number> = (view, at) => view.getFloat32(at, true);
/** The nearest float; a finite number that has none is an error. */
export const writeFloat32: Write<number> = (w, at, v, name) => {
  if (typeof v !== "number") w.wrong(name, "a number", v);
  if (Number.isFinite(v) && !Number.isFinite(Math.fround(v))) w.fail(name, `${v} is beyond the range of a float`);
  w.view.setFloat32(at, v, true);
};
export const readFloat32: Read<number> = /* #__PURE__ */ single(4, 0, float32);
export const writeFloat32s: WriteAll<number> = /* #__PURE__ */ writeAll(4, writeFloat32);
export const readFloat32s: ReadAll<number> = /* #__PURE__ */ readAll(4, float32);
