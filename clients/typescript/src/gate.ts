/** Bounds of the gap gate. */
export interface GateOptions {
  /** Frames held back behind a hole. Default 1,024. */
  maxPending?: number;
  /** How long to wait for a hole to be filled in ms. Default 5,000. */
  timeoutMs?: number;
}

/** What will never arrive: delivery numbers, or offsets of a topic; both ends included. */
export interface Gap {
  /** The numbers are offsets of this topic; undefined = delivery numbers. */
  readonly topic?: string | undefined;
  readonly from: number;
  /** undefined = not known. */
  readonly to: number | undefined;
  /**
   * policy: this client did not keep up · withdrawn: it may not have them any
   * more · cluster: lost between servers · log: the topic's log lost them ·
   * lost: the server does not say · consumer: a loop of this client did not keep
   * up (from 0 where the event has neither number nor offset).
   */
  readonly reason: "policy" | "withdrawn" | "cluster" | "log" | "lost" | "consumer";
}

/** A gap, or numbers of which a newer value of the same key comes: no loss. */
export interface Hole extends Omit<Gap, "reason"> {
  readonly reason: Gap["reason"] | "superseded";
}

/** Reasons by number on the wire. */
export const REASONS: readonly Hole["reason"][] = ["lost", "superseded", "policy", "withdrawn", "cluster", "log"];

/** What the gate does with frames and what it asks for. */
export interface GateEvents<F> {
  deliver(frame: F): void;
  /** Ask the server to send again everything after seq. */
  resume(seq: number): void;
  gap(gap: Gap): void;
}

/**
 * Puts numbered frames in order: the next number is delivered, a duplicate is
 * dropped, and what comes after a hole is held (bounded) while the server is
 * asked once to fill it. After a timeout, a refusal or too many held frames they
 * are delivered in order and what is missing is told.
 *
 * Invariant: every number ≤ counter was delivered or reported missing; pending
 * holds numbers > counter + 1.
 */
export class GapGate<F> {
  readonly #pending = new Map<number, F>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #fresh = true;
  /** Last number delivered or given up. */
  counter = 0;

  readonly #options: GateOptions;
  readonly #events: GateEvents<F>;

  constructor(options: GateOptions, events: GateEvents<F>) {
    this.#events = events;
    this.#options = options;
  }

  /** A connection ended: the counter stays, what is held is forgotten. */
  lost(): void {
    this.#pending.clear();
    this.#wait(false);
    this.#fresh = true;
  }

  push(seq: number, frame: F): void {
    if (this.#fresh && seq <= this.counter) this.counter = seq - 1; // the server started again
    this.#fresh = false;
    if (seq <= this.counter || this.#pending.has(seq)) return;
    if (seq === this.counter + 1) {
      this.counter = seq;
      this.#events.deliver(frame);
      this.#drain(false);
      return;
    }
    this.#pending.set(seq, frame);
    if (this.#pending.size > (this.#options.maxPending ?? 1024)) return this.#drain(true);
    if (!this.#timer) {
      this.#wait(true);
      this.#events.resume(this.counter);
    }
  }

  /** The server answered a resume request; false: it will not fill the hole. */
  resumed(ok: boolean): void {
    if (!ok && this.#timer) this.#drain(true);
  }

  /** Delivers what has become contiguous, or all that is held. */
  #drain(all: boolean): void {
    while (this.#pending.size > 0) {
      const from = this.counter + 1;
      const seq = Math.min(...this.#pending.keys());
      if (seq > from) {
        if (!all) return;
        this.#events.gap({ from, to: seq - 1, reason: "lost" });
      }
      const frame = this.#pending.get(seq);
      if (!frame) return; // a listener closed the connection
      this.#pending.delete(seq);
      this.counter = seq;
      this.#events.deliver(frame);
    }
    this.#wait(false);
  }

  #wait(on: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = on ? setTimeout(() => this.#drain(true), this.#options.timeoutMs ?? 5_000) : undefined;
  }
}
