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
  readonly #options: ReconnectOptions;
  /** Attempts since the last stable connection. */
  attempt = 0;

  constructor(options: ReconnectOptions = {}) {
    this.#options = options;
  }

  /**
   * Milliseconds to wait before the next attempt.
   * @param slow the longest window, and never its first half: a hasty return meets the same limit
   */
  next(slow = false): number {
    const { initialMs = 250, maxMs = 30_000 } = this.#options;
    const bound = Math.min(maxMs, initialMs * 2 ** this.attempt++);
    const random = Math.random();
    return Math.round(slow ? (maxMs * (1 + random)) / 2 : bound * random);
  }

  /** A connection ended that lived for ms milliseconds. */
  ended(ms: number): void {
    if (ms >= (this.#options.stableMs ?? 10_000)) this.attempt = 0;
  }
}
