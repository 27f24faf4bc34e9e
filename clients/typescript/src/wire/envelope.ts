import { FrameError } from "./errors.js";

// The 14 bytes before every FlatBuffer: u8 version, u32 event id, u8 flags,
// u64 seq, all little-endian. The FlatBuffer follows with its u32 size prefix.

/** First byte of every frame. */
export const VERSION = 2;
/** Bytes of the envelope. */
export const HEADER_LEN = 14;
/** Bytes of the size prefix of a FlatBuffer. */
export const PREFIX_LEN = 4;
/** Bytes of a topic trailer: u64 ref, u64 offset. */
export const TRAILER_LEN = 16;
/** Upper bound of an encoded FlatBuffer: several runtimes read offsets as signed. */
export const MAX_PAYLOAD = 2 ** 31 - 1;

const FLAG_SEQ = 1;
const FLAG_TRAILER = 2;

/** The decoded envelope of one frame. */
export interface Header {
  /** The message it came in. */
  view: DataView;
  /** FNV-1a-32 of the event name. */
  id: number;
  /** Delivery number; 0 when the frame is not numbered. Beyond 2^53−1 it is Infinity. */
  seq: number;
  /** A topic trailer follows the FlatBuffer. */
  trailer: boolean;
  /** Index of the size prefix. */
  start: number;
  /** Index after the FlatBuffer. */
  end: number;
  /** Index after the frame. */
  next: number;
}

/** The topic trailer of a frame. */
export interface Trailer {
  /** Names the topic and its epoch; compare as a whole. */
  ref: bigint;
  /** Position in the topic; beyond 2^53−1 it is Infinity. */
  offset: number;
}

/** Id of an event: FNV-1a-32 over the bytes of its (ASCII) name. */
export function eventId(name: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  }
  return h >>> 0;
}

/**
 * Checks the envelope of the frame at index `at`, which ends with its message
 * unless others may follow.
 * @throws FrameError
 */
export function parseHeader(view: DataView, at = 0, joined = false): Header {
  const start = at + HEADER_LEN;
  let end = start + PREFIX_LEN;
  const left = view.byteLength - end;
  if (left < 0) throw new FrameError("short", `the frame is too short: ${view.byteLength - at} bytes`);
  const version = view.getUint8(at);
  if (version !== VERSION) throw new FrameError("version", `wire version ${version}, want ${VERSION}`);
  const flags = view.getUint8(at + 5);
  const trailer = flags & FLAG_TRAILER && TRAILER_LEN;
  const size = view.getUint32(start, true);
  const follow = left - trailer;
  if (joined ? size > follow : size !== follow) {
    throw new FrameError("size", `the size prefix is wrong: ${size}, ${follow} bytes follow`);
  }
  end += size;
  return {
    view,
    id: view.getUint32(at + 1, true),
    seq: flags & FLAG_SEQ && safeUint64(view, at + 6),
    trailer: trailer > 0,
    start,
    end,
    next: end + trailer,
  };
}

/** Reads the trailer of a frame whose header says it has one. */
export function parseTrailer(view: DataView, header: Header): Trailer {
  return { ref: view.getBigUint64(header.end, true), offset: safeUint64(view, header.end + 8) };
}

/** A u64 as a number; Infinity when a number cannot hold it exactly. */
function safeUint64(view: DataView, at: number): number {
  const value = view.getUint32(at + 4, true) * 0x100000000 + view.getUint32(at, true);
  return Number.isSafeInteger(value) ? value : Infinity;
}

/** Writes the envelope of an unnumbered frame at index `at`. */
export function putHeader(view: DataView, at: number, id: number): void {
  view.setUint8(at, VERSION);
  view.setUint32(at + 1, id, true);
  view.setUint8(at + 5, 0);
  view.setFloat64(at + 6, 0); // eight zero bytes
}

/** Writes a delivery number into a frame in place, as a server does. */
export function stamp(frame: Uint8Array, seq: number): void {
  frame[5]! |= FLAG_SEQ;
  new DataView(frame.buffer, frame.byteOffset).setBigUint64(6, BigInt(seq), true);
}
