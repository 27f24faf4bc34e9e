import type { Handle, Handler } from "../handlers.js";
import { Hold } from "./hold.js";

/** Components are told at most so often, in ms: about once a frame. */
const EVERY = 16;

/** What useSyncExternalStore takes. */
export interface Store<T> {
  readonly subscribe: (changed: () => void) => () => void;
  readonly value: () => T | undefined;
}

/** A store that never has a value. */
export const NONE: Store<never> = { subscribe: () => () => {}, value: () => undefined };

/** Where a Latest gets its values, and who knows it while it does. */
export interface Source<T> {
  listen(handler: Handler<T>): Handle;
  began(): void;
  ended(): void;
}

/**
 * The newest value of something, for any number of components. The first value
 * is told at once, further ones at most once a frame: a thousand events a second
 * do not render a thousand times.
 */
export class Latest<T> implements Store<T> {
  #value: T | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #hold: Hold;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** There is a value that nobody was told of. */
  #news = false;

  constructor(source: Source<T>) {
    let handle: Handle | undefined;
    this.#hold = new Hold(
      () => {
        handle = source.listen((value) => this.#take(value));
        source.began();
      },
      () => {
        handle?.off();
        clearTimeout(this.#timer);
        this.#timer = this.#value = undefined;
        source.ended();
      },
    );
  }

  readonly subscribe = (changed: () => void): (() => void) => {
    const release = this.#hold.take();
    this.#listeners.add(changed);
    return () => {
      this.#listeners.delete(changed);
      release();
    };
  };

  readonly value = (): T | undefined => this.#value;

  #take(value: T): void {
    this.#value = value;
    this.#news = true;
    if (this.#timer === undefined) this.#tell();
  }

  #tell(): void {
    this.#timer = undefined;
    if (!this.#news) return;
    this.#news = false;
    this.#timer = setTimeout(() => this.#tell(), EVERY);
    for (const changed of [...this.#listeners]) changed();
  }
}
