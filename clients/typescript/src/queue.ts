import { NovaError } from "./error.js";
import type { Code } from "./error.js";
import { countable } from "./session.js";
import { stamp } from "./wire/index.js";

/** Bounds of what waits for a connection or an acknowledgement. */
export interface QueueOptions {
  /** Frames that wait for a connection. Default 1,024. */
  maxFrames?: number;
  /** Bytes, also of what the socket has accepted but not sent, or the server not acknowledged. Default 1 MiB. */
  maxBytes?: number;
  /** Age in ms after which a frame that waits for a connection fails. Default 30,000. */
  maxAgeMs?: number;
}

interface Entry {
  frame: Uint8Array;
  /** Set while it waits for a connection. */
  timer?: ReturnType<typeof setTimeout>;
  done: () => void;
  fail: (e: NovaError) => void;
}

/**
 * Frames on their way to the server, in order. Refuses when full. With a session
 * each has a number and stays until the server has acknowledged it; after a loss
 * those above what the server received are sent again. Without one a frame is
 * done when a socket has it.
 *
 * Invariant: sent ≤ tried ≤ entries; with a session entry i has number acked+1+i.
 */
export class SendQueue {
  readonly #options: QueueOptions;
  readonly #entries: Entry[] = [];
  #bytes = 0;
  #numbered = false;
  #acked = 0;
  /** Entries this connection has, and those any connection of the session had. */
  #sent = 0;
  #tried = 0;
  /** Longest frame the server takes. */
  largest = Infinity;

  readonly #send: (frame: Uint8Array) => boolean;

  /** @param send hands a frame to the socket; false when there is none that is ready */
  constructor(options: QueueOptions = {}, send: (frame: Uint8Array) => boolean) {
    this.#send = send;
    this.#options = options;
  }

  /**
   * Takes a frame; the promise settles when it is done or given up.
   * @param buffered bytes that wait in the socket
   * @throws NovaError exhausted, when the queue is full
   */
  push(frame: Uint8Array, buffered = 0): Promise<void> {
    const { maxFrames = 1024, maxBytes = 1 << 20, maxAgeMs = 30_000 } = this.#options;
    const waiting = this.#entries.length - this.#tried;
    const bytes = Math.max(this.#bytes, buffered);
    if (waiting >= maxFrames || bytes + frame.length > maxBytes) {
      throw new NovaError("exhausted", `the send queue is full (${waiting} frames wait, ${bytes} bytes)`);
    }
    return new Promise<void>((done, fail) => {
      const entry: Entry = { frame, done, fail };
      this.#entries.push(entry);
      this.#bytes += frame.length;
      this.flush();
      if (this.#tried < this.#entries.length) {
        entry.timer = setTimeout(() => this.withdraw(frame, "unavailable", `not sent: no connection for ${maxAgeMs} ms`), maxAgeMs);
      }
    });
  }

  /**
   * A connection is ready: sends everything that it may not have.
   * @param largest bytes of the longest frame the server takes, 0 = any
   */
  start(numbered: boolean, largest: number): void {
    this.#numbered = numbered;
    this.largest = largest > 0 ? largest : Infinity;
    this.#sent = 0;
    this.flush();
  }

  /** The server has everything up to seq; false when it cannot. */
  ack(seq: number): boolean {
    const n = seq - this.#acked;
    if (!countable(seq) || n > this.#tried) return false;
    if (n > 0) {
      for (const entry of this.#drop(0, n)) entry.done();
      this.#acked = seq;
      this.#tried -= n;
      this.#sent = Math.max(0, this.#sent - n);
    }
    return true;
  }

  /** The session is lost: what the server may or may not have handled fails. Numbers go on behind received. */
  renew(received = 0): void {
    this.#fail(0, this.#tried, "unknown_outcome", "the session was lost before the server acknowledged it");
    this.#acked = received;
    this.#sent = this.#tried = 0;
  }

  /** Fails everything. */
  clear(why: string): void {
    this.renew();
    this.#fail(0, this.#entries.length, "cancelled", why);
  }

  /** Sends what waits while the socket takes it. */
  flush(): void {
    for (let entry: Entry | undefined; (entry = this.#entries[this.#sent]); ) {
      const { length } = entry.frame;
      if (this.#sent >= this.#tried && length > this.largest) {
        this.#fail(this.#sent, 1, "invalid", `${length} bytes are more than the ${this.largest} the server takes`);
        continue;
      }
      if (this.#numbered) stamp(entry.frame, this.#acked + this.#sent + 1);
      if (!this.#send(entry.frame)) break;
      if (this.#numbered) {
        this.#tried = Math.max(this.#tried, ++this.#sent);
      } else {
        entry.done();
        this.#drop(0, 1);
      }
    }
  }

  #fail(from: number, n: number, code: Code, why: string): void {
    for (const entry of this.#drop(from, n)) entry.fail(new NovaError(code, why));
  }

  #drop(from: number, n: number): Entry[] {
    const dropped = this.#entries.splice(from, n);
    for (const { frame, timer } of dropped) {
      this.#bytes -= frame.length;
      clearTimeout(timer);
    }
    return dropped;
  }

  /** Fails a frame that no connection took; false when one did, or it is done. */
  withdraw(frame: Uint8Array, code: Code, why: string): boolean {
    const at = this.#entries.findIndex((entry) => entry.frame === frame);
    if (at < this.#tried) return false;
    this.#fail(at, 1, code, why);
    return true;
  }
}
