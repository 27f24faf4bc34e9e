import type { EventDescriptor } from "./wire/index.js";

/** What is known about a delivered event beside its value. */
export interface Meta {
  /** Event name; "" when no schema knows the id. */
  readonly event: string;
  /** Event id on the wire. */
  readonly id: number;
  /** Delivery number of this connection; 0 = not numbered. */
  readonly seq: number;
  /** Topic, when the server tells it. */
  readonly topic?: string;
  /** Position in the topic, when the server tells it. */
  readonly offset?: number;
  /** Events no schema knows: the undecoded, size-prefixed FlatBuffer (a copy). */
  readonly raw?: Uint8Array;
}

/** Receives the values of one event. */
export type Handler<T> = (value: T, meta: Meta) => void;

/** What `on` returns: take the handler away again. */
export interface Handle {
  off(): void;
}

/** Called for what a handler threw. */
export type Thrown = (cause: unknown, meta: Meta) => void;

interface Entry {
  handler: Handler<any>;
  once: boolean;
  active: boolean;
}

const NONE: readonly Entry[] = [];

/**
 * The handlers of some events. Lists are replaced, never changed: a handler
 * added during a dispatch does not run in it, one removed does not run any more.
 */
export class Handlers {
  readonly #byId = new Map<number, readonly Entry[]>();
  #any: readonly Entry[] = NONE;

  on<T>(event: EventDescriptor<T>, handler: Handler<T>, once = false): Handle {
    const entry: Entry = { handler, once, active: true };
    this.#byId.set(event.id, [...(this.#byId.get(event.id) ?? NONE), entry]);
    return { off: () => this.#remove(event.id, (e) => e === entry) };
  }

  onAny(handler: Handler<unknown>): Handle {
    const entry: Entry = { handler, once: false, active: true };
    this.#any = [...this.#any, entry];
    return {
      off: () => {
        entry.active = false;
        this.#any = this.#any.filter((e) => e !== entry);
      },
    };
  }

  /** Removes a handler, or all of the event. */
  off<T>(event: EventDescriptor<T>, handler?: Handler<T>): void {
    this.#remove(event.id, (e) => handler === undefined || e.handler === handler);
  }

  /** Removes every handler. */
  clear(): void {
    for (const id of [...this.#byId.keys()]) this.#remove(id, () => true);
  }

  /** Reports whether anyone would see the event. */
  wants(id: number, any: boolean): boolean {
    return (any && this.#any.length > 0) || this.#byId.has(id);
  }

  /** Calls the event's handlers in the order they were added, then the others. */
  dispatch(id: number, value: unknown, meta: Meta, any: boolean, thrown: Thrown): void {
    const list = this.#byId.get(id);
    const rest = any ? this.#any : NONE;
    if (list !== undefined) {
      for (const entry of list) {
        if (entry.once && entry.active) this.#remove(id, (e) => e === entry, true);
        this.#call(entry, value, meta, thrown);
      }
    }
    for (const entry of rest) this.#call(entry, value, meta, thrown);
  }

  #call(entry: Entry, value: unknown, meta: Meta, thrown: Thrown): void {
    if (!entry.active) return;
    if (entry.once) entry.active = false;
    try {
      entry.handler(value, meta);
    } catch (cause) {
      thrown(cause, meta);
    }
  }

  #remove(id: number, match: (e: Entry) => boolean, keepActive = false): void {
    const list = this.#byId.get(id) ?? NONE;
    const left = list.filter((e) => {
      if (!match(e)) return true;
      if (!keepActive) e.active = false;
      return false;
    });
    if (left.length > 0) this.#byId.set(id, left);
    else this.#byId.delete(id);
  }
}

/** Listeners of one kind of notice; one that throws does not stop the others. */
export class Listeners<A extends unknown[]> {
  #list: readonly ((...args: A) => void)[] = [];

  get size(): number {
    return this.#list.length;
  }

  add(listener: (...args: A) => void): Handle {
    const own = (...args: A) => listener(...args);
    this.#list = [...this.#list, own];
    return {
      off: () => {
        this.#list = this.#list.filter((l) => l !== own);
      },
    };
  }

  emit(thrown: (cause: unknown) => void, ...args: A): void {
    for (const listener of this.#list) {
      try {
        listener(...args);
      } catch (cause) {
        thrown(cause);
      }
    }
  }
}
