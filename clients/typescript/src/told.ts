import { encode } from "./encode.js";
import type { EventDescriptor, Writer } from "./wire/index.js";

interface Entry {
  frame: Uint8Array;
  /** When it was told. */
  at: number;
}

/**
 * What the server was told of topics and groups, the newest of each key, until it
 * is known to have read it: when a connection is lost nobody tells whether it read
 * the last frames, so they are told again, in order, when the session goes on.
 */
export class Told extends Map<string, Entry> {
  readonly #writer: Writer;
  readonly #send: (frame: Uint8Array) => void;

  /** @param send hands a frame to the socket, when there is one that is ready */
  constructor(writer: Writer, send: (frame: Uint8Array) => void) {
    super();
    this.#writer = writer;
    this.#send = send;
  }

  /** Tells the server, now or when it goes on. */
  tell<T>(key: string, event: EventDescriptor<T>, value: T): void {
    const frame = encode(this.#writer, event, value);
    this.delete(key); // the newest comes last
    this.set(key, { frame, at: Date.now() });
    this.#send(frame);
  }

  /** The session goes on with another socket. */
  again(): void {
    for (const { frame } of this.values()) this.#send(frame);
  }

  /** The server has read what was told before this time. */
  read(until: number): void {
    for (const [key, { at }] of this) if (at < until) this.delete(key);
  }
}
