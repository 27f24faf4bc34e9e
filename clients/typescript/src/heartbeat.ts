/** A time that the server asks for in ms, at least `least`; a bad one keeps nobody away for longer than 10 min. */
export function bounded(ms: number, least: number): number {
  return Math.min(Math.max(ms, least), 600_000);
}

/** When a silent connection counts as dead. */
export interface HeartbeatOptions {
  /** Time between two pings in ms; 0 or Infinity = none. Default what the server says, else 15,000. */
  intervalMs?: number;
  /** Silent intervals after which the connection is dead. Default 2. */
  misses?: number;
  /** How long a probe waits for any frame in ms. Default 5,000. */
  probeMs?: number;
}

/**
 * Sends pings and notices a connection that is dead without having been closed.
 * Every received frame is a sign of life. A timer that fires late (a sleeping
 * computer, a throttled tab) proves nothing: what arrived meanwhile has not been
 * dispatched yet, so it only starts a probe.
 */
export class Heartbeat {
  #intervalMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heard = false;
  #missed = 0;
  #probing = false;

  readonly #options: HeartbeatOptions;
  readonly #ping: () => void;
  readonly #dead: () => void;

  constructor(options: HeartbeatOptions, ping: () => void, dead: () => void) {
    this.#options = options;
    this.#ping = ping;
    this.#dead = dead;
  }

  /** @param serverMs the server's wish for the interval in ms, 0 = none; the option wins */
  start(serverMs: number): void {
    this.#intervalMs = this.#options.intervalMs ?? (serverMs > 0 ? bounded(serverMs, 1_000) : 15_000);
    this.#heard = true;
    this.#wait(this.#intervalMs, false);
    this.#ping();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** A frame arrived. */
  alive(): void {
    this.#heard = true;
  }

  /** Asks now whether the peer still answers; at most one probe at a time. */
  probe(): void {
    if (!this.#timer || this.#probing) return;
    this.#heard = false;
    this.#wait(this.#options.probeMs ?? 5_000, true);
    this.#ping();
  }

  #wait(ms: number, probing: boolean): void {
    clearTimeout(this.#timer);
    this.#probing = probing;
    const late = Date.now() + ms * 1.5;
    if (ms > 0 && ms < 2e9) this.#timer = setTimeout(() => this.#tick(late), ms); // a timer that cannot wait so long does not wait at all
  }

  #tick(late: number): void {
    const probed = this.#probing;
    this.#probing = false;
    if (this.#heard) this.#missed = 0;
    else if (Date.now() > late) return this.probe();
    else if (probed || ++this.#missed >= (this.#options.misses ?? 2)) return this.#dead();
    this.#heard = false;
    this.#wait(this.#intervalMs, false);
    this.#ping();
  }
}
