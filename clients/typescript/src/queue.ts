import { NovaError } from "./error.js";

/** Bounds of what waits for a connection. */
export interface QueueOptions {
  /** Frames. Default 1,024. */
  maxFrames?: number;
  /** Bytes, also of what the socket has accepted but not sent. Default 1 MiB. */
  maxBytes?: number;
  /** Age in ms after which a waiting frame fails. Default 30,000. */
  maxAgeMs?: number;
}

interface Entry {
  frame: Uint8Array;
  until: number;
  done: () => void;
  fail: (e: NovaError) => void;
}

/** Frames that wait for a connection, in order. Refuses when full. */
export class SendQueue {
  readonly maxFrames: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  #entries: Entry[] = [];
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: QueueOptions = {}) {
    this.maxFrames = options.maxFrames ?? 1024;
    this.maxBytes = options.maxBytes ?? 1 << 20;
    this.maxAgeMs = options.maxAgeMs ?? 30_000;
  }

  get length(): number {
    return this.#entries.length;
  }

  /**
   * Takes a frame; the promise settles when it was handed to a socket or given up.
   * @throws NovaError exhausted, when the queue is full
   */
  push(frame: Uint8Array): Promise<void> {
    if (this.#entries.length >= this.maxFrames || this.#bytes + frame.length > this.maxBytes) {
      throw new NovaError("exhausted", `the send queue is full (${this.#entries.length} frames, ${this.#bytes} bytes)`);
    }
    return new Promise<void>((done, fail) => {
      this.#entries.push({ frame, until: Date.now() + this.maxAgeMs, done, fail });
      this.#bytes += frame.length;
      this.#watch();
    });
  }

  /** Gives the frames to send, in order, until it returns false. */
  flush(send: (frame: Uint8Array) => boolean): void {
    let n = 0;
    for (const entry of this.#entries) {
      if (!send(entry.frame)) break;
      entry.done();
      n++;
    }
    this.#drop(n);
  }

  /** Fails everything that waits. */
  clear(e: NovaError): void {
    for (const entry of this.#entries) entry.fail(e);
    this.#drop(this.#entries.length);
  }

  #drop(n: number): void {
    for (const entry of this.#entries.splice(0, n)) this.#bytes -= entry.frame.length;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#watch();
  }

  /** One timer, for the oldest frame. */
  #watch(): void {
    const first = this.#entries[0];
    if (first === undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, first.until - Date.now()));
  }

  #expire(): void {
    const now = Date.now();
    let n = 0;
    for (const entry of this.#entries) {
      if (entry.until > now) break;
      entry.fail(new NovaError("unavailable", `no connection for ${this.maxAgeMs} ms; the frame was not sent`));
      n++;
    }
    this.#drop(n);
  }
}
