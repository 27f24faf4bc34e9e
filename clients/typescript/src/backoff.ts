/** When to try again after a lost connection. */
export interface ReconnectOptions {
  /** Upper bound of the first delay in ms. Default 250. */
  initialMs?: number;
  /** Upper bound of every delay in ms. Default 30,000. */
  maxMs?: number;
  /** A connection that lived so long starts the delays anew, in ms. Default 10,000. */
  stableMs?: number;
}

/**
 * Delays that double up to the maximum, then full jitter over the result: a
 * server that comes back is not met by everyone at once.
 */
export class Backoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #stableMs: number;
  /** Attempts since the last stable connection. */
  attempt = 0;

  readonly #random: () => number;

  constructor(options: ReconnectOptions = {}, random: () => number = Math.random) {
    this.#random = random;
    this.#initialMs = options.initialMs ?? 250;
    this.#maxMs = options.maxMs ?? 30_000;
    this.#stableMs = options.stableMs ?? 10_000;
  }

  /**
   * Milliseconds to wait before the next attempt.
   * @param slow the longest delay
   */
  next(slow = false): number {
    const bound = Math.min(this.#maxMs, this.#initialMs * 2 ** this.attempt++);
    return slow ? this.#maxMs : Math.round(bound * this.#random());
  }

  /** A connection ended that lived for ms milliseconds. */
  ended(ms: number): void {
    if (ms >= this.#stableMs) this.attempt = 0;
  }
}
