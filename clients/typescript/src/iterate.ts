import type { Client } from "./client.js";
import { NovaError } from "./error.js";
import type { Meta } from "./handlers.js";
import type { SubscribeOptions } from "./topic.js";
import type { EventDescriptor } from "./wire/index.js";

/** Options of a loop; every one may be left out. */
export interface IterateOptions extends SubscribeOptions {
  /** Joins this topic for as long as the loop runs, and takes only its events. Default: every event of that kind. */
  topic?: string;
  /** Events that may wait for the loop. Default 1,024. */
  max?: number;
  /** Ends the loop. */
  signal?: AbortSignal;
}

/**
 * The events of a kind in a loop:
 *
 *     for await (const q of iterate(client, quote, { topic: "equities" })) …
 *
 * It listens from this call on until the loop is left. What the loop has not
 * taken yet waits, bounded: then of an event with delivery "latest" the newest of
 * each key is kept, one with delivery "drop" is dropped and told to onGap with
 * reason "consumer", and any other ends the loop with an error.
 * The loop throws NovaError exhausted (it did not keep up), cancelled or
 * unavailable (the client was closed, by itself or by the server), what the server
 * refused the topic with or put the client out of it for, or the reason of the
 * signal. It ends when `unsubscribe` leaves the topic.
 * @throws NovaError failed_precondition when the client is closed, invalid for a bad topic or limit
 */
export function iterate<T>(client: Client, event: EventDescriptor<T>, options: IterateOptions = {}): AsyncIterableIterator<T> {
  return new Iteration(client, event, options);
}

interface Waiter<T> {
  done(result: IteratorResult<T>): void;
  fail(cause: unknown): void;
}

class Iteration<T> implements AsyncIterableIterator<T> {
  readonly #client: Client;
  readonly #event: EventDescriptor<T>;
  readonly #max: number;
  #values: T[] = [];
  readonly #waiters: Waiter<T>[] = [];
  readonly #stop: () => void;
  #over = false;
  /** What the loop is yet to be told. */
  #failed: { cause: unknown } | undefined;

  constructor(client: Client, event: EventDescriptor<T>, { topic, max = 1024, signal, ...options }: IterateOptions) {
    this.#client = client;
    this.#event = event;
    this.#max = max;
    if (client.status.state === "closed") throw new NovaError("failed_precondition", "the client is closed", { event: event.name });
    const take = (value: T, meta: Meta) => this.#take(value, meta);
    const joined = topic === undefined ? undefined : client.subscribe(topic, options);
    const handles = [
      (joined ?? client).on(event, take),
      client.onStatus(({ state, code, reason }) => {
        if (state === "closed") this.#end({ cause: new NovaError(code === undefined ? "cancelled" : "unavailable", `the client is closed: ${reason}`) });
      }),
    ];
    if (joined) handles.push(joined.onEnd((error) => this.#end(error && { cause: error })));
    const abort = () => this.#end({ cause: signal!.reason });
    this.#stop = () => {
      for (const handle of handles) handle.off();
      joined?.close();
      signal?.removeEventListener("abort", abort);
    };
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
  }

  next(): Promise<IteratorResult<T>> {
    const [value] = this.#values.splice(0, 1);
    if (value !== undefined) return Promise.resolve({ value, done: false });
    const failed = this.#failed;
    this.#failed = undefined;
    if (failed) return Promise.reject(failed.cause);
    if (this.#over) return Promise.resolve({ value: undefined, done: true });
    return new Promise((done, fail) => this.#waiters.push({ done, fail }));
  }

  /** The loop is left. */
  return(): Promise<IteratorResult<T>> {
    this.#end(undefined);
    this.#values = [];
    this.#failed = undefined;
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(value: T, meta: Meta): void {
    const waiter = this.#waiters.shift();
    if (waiter) return waiter.done({ value, done: false });
    const { name, delivery, key } = this.#event;
    this.#values.push(value);
    if (this.#values.length <= this.#max) return;
    if (delivery === "latest" && key !== undefined) this.#values = newest(this.#values, key as keyof T);
    if (this.#values.length <= this.#max) return;
    this.#values.pop();
    const { topic, offset, seq } = meta;
    if (delivery === "drop") return this.#client.missing({ topic, from: offset ?? seq, to: offset ?? seq, reason: "consumer" });
    this.#end({ cause: new NovaError("exhausted", `event ${name}: the loop fell ${this.#max} events behind`, { event: name, topic }) });
  }

  #end(failed: { cause: unknown } | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#stop();
    const [first, ...others] = this.#waiters.splice(0);
    if (!first) this.#failed = failed;
    else if (failed) first.fail(failed.cause);
    else first.done({ value: undefined, done: true });
    for (const waiter of others) waiter.done({ value: undefined, done: true });
  }
}

/** The newest value of each key, each in its own place. */
function newest<T>(values: readonly T[], key: keyof T): T[] {
  const last = new Map(values.map((v, i) => [v[key], i]));
  return values.filter((v, i) => last.get(v[key]) === i);
}
