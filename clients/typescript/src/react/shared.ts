import type { Client } from "../client.js";
import type { Handle, Handler } from "../handlers.js";
import type { SubscribeOptions, Subscription } from "../topic.js";
import type { EventDescriptor } from "../wire/index.js";
import { Hold } from "./hold.js";
import { Latest } from "./latest.js";

interface Joined {
  readonly hold: Hold;
  subscription: Subscription | undefined;
}

/** What the components of one client share: newest values and subscriptions. */
export class Shared {
  readonly client: Client;
  readonly #latest = new Map<string, Latest<any>>();
  readonly #topics = new Map<string, Joined>();

  constructor(client: Client) {
    this.client = client;
  }

  /** Newest value of an event. */
  event<T>(event: EventDescriptor<T>): Latest<T> {
    return this.#store(`${event.id}`, (handler) => this.client.on(event, handler));
  }

  /** Newest value of an event in a topic. */
  topic<T>(topic: string, options: SubscribeOptions | undefined, event: EventDescriptor<T>): Latest<T> {
    return this.#store(`${event.id} ${topic}`, (handler) => ({ off: this.listen(topic, options, event, handler) }));
  }

  /** Joins a topic, if need be, and handles an event in it, until the returned function is called. */
  listen<T>(topic: string, options: SubscribeOptions | undefined, event: EventDescriptor<T>, handler: Handler<T>): () => void {
    if (this.client.status.state === "closed") return () => {}; // useConnection tells
    const joined = this.#join(topic, options);
    const release = joined.hold.take();
    const handle = joined.subscription!.on(event, handler);
    return () => {
      handle.off();
      release();
    };
  }

  #join(topic: string, options: SubscribeOptions | undefined): Joined {
    const known = this.#topics.get(topic);
    if (known) return known;
    const joined: Joined = {
      subscription: undefined,
      hold: new Hold(
        () => {
          joined.subscription = this.client.subscribe(topic, options);
          this.#topics.set(topic, joined);
        },
        () => {
          joined.subscription?.close();
          this.#topics.delete(topic);
        },
      ),
    };
    return joined;
  }

  #store<T>(key: string, listen: (handler: Handler<T>) => Handle): Latest<T> {
    let latest = this.#latest.get(key);
    if (latest) return latest;
    latest = new Latest<T>({
      listen,
      began: () => void (this.#latest.has(key) || this.#latest.set(key, latest!)),
      ended: () => void (this.#latest.get(key) === latest && this.#latest.delete(key)),
    });
    this.#latest.set(key, latest);
    return latest;
  }
}
