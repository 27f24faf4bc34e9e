/**
 * Keeps below the rate limit of a server: frames beyond it are held and go later,
 * in order. The bounds are a little lower than the server's, since frames may
 * arrive closer together than they were sent.
 */
export class Pace {
  /** Time that one frame costs, and that may be spent ahead, in ms. */
  #cost = 0;
  #ahead = 0;
  /** Until when time is spent. */
  #spent = 0;
  #held: Uint8Array[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #send: (frame: Uint8Array) => boolean;
  readonly #free: () => void;

  /** @param free is called when there is room again after `room` denied it */
  constructor(send: (frame: Uint8Array) => boolean, free: () => void) {
    this.#send = send;
    this.#free = free;
  }

  /**
   * Begins anew; what is held is forgotten.
   * @param rate frames a second, 0 = no limit
   * @param burst frames at once
   */
  limit(rate: number, burst: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#held = [];
    this.#cost = rate > 0 ? 1053 / rate : 0;
    this.#ahead = this.#cost * Math.max(0, burst * 0.9 - 3); // hello and attach count too
    this.#spent = 0;
  }

  /** Reports whether a frame would go at once. */
  room(): boolean {
    if (this.#timer) return false;
    const wait = this.#spent - this.#ahead - performance.now(); // which nobody sets back
    if (wait > 0) this.#timer = setTimeout(() => this.#drain(), Math.ceil(wait));
    return wait <= 0;
  }

  /** Sends a frame, now or when its turn comes; false when there is no open socket. */
  send(frame: Uint8Array): boolean {
    if (!this.room()) return this.#held.push(frame) > 0;
    this.#spent = Math.max(this.#spent, performance.now()) + this.#cost;
    return this.#send(frame);
  }

  #drain(): void {
    this.#timer = undefined;
    while (this.#held.length > 0 && this.room()) this.send(this.#held.shift()!);
    if (!this.#timer) this.#free();
  }
}
