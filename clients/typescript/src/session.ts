import type * as control from "./control/index.js";

/** Numbered frames after which they are acknowledged at once. */
const ACK_EVERY = 64;
/** Otherwise they are so long after the first of them, in ms. */
const ACK_MS = 2_000;

/** Reports whether numbers and offsets can be so: whole, 0 to 2^53−1. */
export function countable(...numbers: number[]): boolean {
  return numbers.every((n) => Number.isSafeInteger(n) && n >= 0);
}

/**
 * The client's side of session/1: the word for the session, which stays in
 * memory, and the gate for numbers. The server declares every hole in its place,
 * so that only the next number, or a gap that covers it, passes.
 *
 * Invariant: every number ≤ last was delivered or declared missing.
 */
export class Session {
  /** What the server calls the session; "" = none. */
  name = "";
  /** session/1 is on for this connection. */
  on = false;
  /** nova.session has come on this connection; numbered frames before it are discarded. */
  attached = false;
  last = 0;
  #due = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #ack: (seq: number) => void;

  /** @param ack tells the server that everything up to seq has arrived */
  constructor(ack: (seq: number) => void) {
    this.#ack = ack;
  }

  /** The connection is gone; the session may live on. */
  lost(): void {
    this.on = this.attached = false;
    this.#settle();
  }

  /**
   * Takes the answer to attach, or the word that the session has changed; false
   * when the server contradicts itself.
   */
  attach(m: control.Session): boolean {
    const next = this.last + 1;
    // A later word that the stream goes on may have overtaken numbered frames.
    if (!countable(m.nextSeq - 1, m.nextSeq, m.received) || (m.recovered && !this.attached && (!this.name || m.nextSeq !== next))) return false;
    if (!m.recovered) this.last = m.nextSeq - 1;
    this.name = m.session;
    return (this.attached = true);
  }

  /** Takes the numbers from first to last, both included; false when they are not the next. */
  push(from: number, to: number): boolean {
    if (from > this.last + 1 || to <= this.last) return false;
    this.last = to;
    return true;
  }

  /** What was taken last is delivered: acknowledges it, soon. */
  delivered(): void {
    if (!this.attached) return; // a handler ended the connection
    if (++this.#due >= ACK_EVERY) this.#acknowledge();
    else this.#timer ??= setTimeout(() => this.#acknowledge(), ACK_MS);
  }

  #acknowledge(): void {
    this.#settle();
    this.#ack(this.last);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due = 0;
  }
}
