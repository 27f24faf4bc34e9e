/**
 * Keeps below the rate limit of a server: frames beyond it are held and go later,
 * in order. The bounds are a little lower than the server's, since frames may
 * arrive closer together than they were sent.
 */
export class Pace {
  /** Frames per ms; 0 = as many as come. */
  #rate = 0;
  #burst = 0;
  #tokens = 0;
  #at = 0;
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
    this.#rate = rate * 0.00095;
    this.#tokens = this.#burst = Math.max(1, burst * 0.9 - 2); // hello and attach count too
    this.#at = Date.now();
  }

  /** Reports whether a frame would go at once. */
  room(): boolean {
    if (!(this.#rate > 0)) return true;
    if (this.#timer) return false;
    const now = Date.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#at) * this.#rate);
    this.#at = now;
    if (this.#tokens >= 1) return true;
    this.#timer = setTimeout(() => this.#drain(), Math.ceil((1 - this.#tokens) / this.#rate));
    return false;
  }

  /** Sends a frame, now or when its turn comes; false when there is no open socket. */
  send(frame: Uint8Array): boolean {
    if (!this.room()) return this.#held.push(frame) > 0;
    this.#tokens--;
    return this.#send(frame);
  }

  #drain(): void {
    this.#timer = undefined;
    while (this.#held.length > 0 && this.room()) this.send(this.#held.shift()!);
    if (!this.#timer) this.#free();
  }
}
