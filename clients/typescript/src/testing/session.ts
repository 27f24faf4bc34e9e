import { encode } from "../encode.js";
import { Writer, stamp } from "../wire/index.js";
import type { EventDescriptor } from "../wire/index.js";
import type { Joined, Placed, Topic } from "./topic.js";
import * as control from "../control/index.js";

/** Frames a session keeps to send again. */
const KEPT = 1024;

/** What a client has on the server, over as many sockets as it takes. */
export class Session {
  readonly name: string;
  readonly clientId: string;
  readonly topics = new Map<string, Topic>();
  readonly groups = new Set<string>();
  /** Numbered frames received. */
  received = 0;
  /** Hands a frame to the socket there is, if any. */
  send: ((frame: Uint8Array) => void) | undefined;
  #last = 0;
  /** Frames with the numbers up to #last. */
  readonly #kept: Uint8Array[] = [];
  readonly #writer = new Writer();

  constructor(name: string, clientId: string) {
    this.name = name;
    this.clientId = clientId;
  }

  get nextSeq(): number {
    return this.#last + 1;
  }

  /** Reports whether everything after a number can be sent. */
  holds(seq: number): boolean {
    return seq <= this.#last && seq >= this.#last - this.#kept.length;
  }

  /** Sends everything after a number again, several frames in a message. */
  replay(seq: number): void {
    for (const message of joined(this.#kept.slice(this.#kept.length - (this.#last - seq)))) this.send?.(message);
  }

  /** Sends a frame with the next number. */
  number({ frame, trailer }: Placed): void {
    const bytes = new Uint8Array(frame.length + (trailer ? 16 : 0));
    bytes.set(frame);
    if (trailer) {
      bytes[5]! |= 2;
      const view = new DataView(bytes.buffer, frame.length);
      view.setBigUint64(0, trailer.ref, true);
      view.setBigUint64(8, BigInt(trailer.offset), true);
    }
    stamp(bytes, ++this.#last);
    this.#kept.push(bytes);
    if (this.#kept.length > KEPT) this.#kept.shift();
    this.send?.(bytes);
  }

  /** Tells something in its place among the numbered frames. */
  tell<T>(event: EventDescriptor<T>, value: T): void {
    this.number({ frame: encode(this.#writer, event, value), trailer: undefined });
  }

  /** Tells something apart from them. */
  say<T>(event: EventDescriptor<T>, value: T): void {
    this.send?.(encode(this.#writer, event, value));
  }

  /** Puts the client into a topic. */
  join(topic: Topic, id: number, joined: Joined): void {
    this.topics.set(topic.name, topic);
    const { offset, recovered, frames } = joined;
    this.tell(control.novaSubscribed, { id, topic: topic.name, epoch: topic.epoch, offset, recovered, replayed: frames.length });
    for (const frame of frames) this.number(frame);
  }
}

/** Frames as messages of up to 16 KiB. */
function joined(frames: readonly Uint8Array[]): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let from = 0; from < frames.length; ) {
    let [to, size] = [from, 0];
    do size += frames[to++]!.length;
    while (to < frames.length && size + frames[to]!.length <= 16_384);
    const message = new Uint8Array(size);
    for (let at = 0; from < to; at += frames[from++]!.length) message.set(frames[from]!, at);
    messages.push(message);
  }
  return messages;
}
