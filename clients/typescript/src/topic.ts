import { novaSubscribe, subscribe, unsubscribe } from "./control/index.js";
import type { Cursor, TopicRejected, TopicSubscribed, TopicUnsubscribed } from "./control/index.js";
import { NovaError, codeOf, threw } from "./error.js";
import type { Hole } from "./gate.js";
import { Handlers } from "./handlers.js";
import type { Handle, Handler } from "./handlers.js";
import { countable } from "./session.js";
import { sha256Head } from "./sha256.js";
import type { Told } from "./told.js";
import type { EventDescriptor, Trailer } from "./wire/index.js";
import { utf8 } from "./wire/text.js";

/** A position in the history of a topic. */
export interface Position {
  /** Life of the topic's counter; offsets of different epochs do not compare. */
  readonly epoch: string;
  /** Last offset delivered. */
  readonly offset: number;
}

/** How to join a topic. */
export interface SubscribeOptions {
  /**
   * Where to start, on servers that tell positions: "all" that is retained,
   * "live" from now on, or after a position. Other servers send what they
   * retain. Default "all".
   */
  from?: "all" | "live" | Position;
  /**
   * Most retained events to begin with; of more the newest come, and `recovered`
   * is false. Default 1,024.
   */
  limit?: number;
}

/**
 * One subscription of a topic. Several of one topic share what goes over the
 * wire; the topic is left when the last is closed. It survives reconnects.
 */
export interface Subscription {
  readonly topic: string;
  /** Position of the newest event delivered; undefined when the server tells none. */
  readonly position: Position | undefined;
  /** The last join continued exactly at `position`: nothing was missed. */
  readonly recovered: boolean;
  /**
   * Handles an event of this topic. Events that come without their topic (all of a
   * server that does not tell topics, those that are not retained, and what is sent
   * to no topic) are handled by every subscription.
   */
  on<T>(event: EventDescriptor<T>, handler: Handler<T>): Handle;
  /**
   * Calls listener when the subscription ends before it is closed: with why, when
   * the server refuses the topic or puts the client out of it, which onError is told
   * too; without, when `unsubscribe` leaves it. It is not joined again by itself.
   */
  onEnd(listener: (error: NovaError | undefined) => void): Handle;
  /** Leaves; handlers of this subscription are not called any more. */
  close(): void;
}

/** What the topics need from their client. */
export interface TopicEvents {
  gap(gap: Hole): void;
  /** An event is handled: make it decodable. */
  know(event: EventDescriptor<any>): void;
  error(e: NovaError): void;
}

/** A joined topic. Without members it was joined by the server. */
export interface Topic {
  readonly name: string;
  /** Where to start without a position. */
  readonly live: boolean;
  readonly limit: number;
  /** Handlers of its subscriptions. */
  readonly members: Set<Handlers>;
  /** Request under way or answered last. */
  id: number;
  /** It is under way. */
  asking?: boolean;
  /** The server put us there while we were leaving: not asked for again. */
  doubtful?: boolean;
  position?: { epoch: string; offset: number } | undefined;
  recovered: boolean;
  /** What trailers call it; undefined until the server has answered. */
  ref?: bigint | undefined;
}

/** Bytes of one topic in an attach, with the longest name. */
const CURSOR = 384;
/** Key of the listeners that are told of the end. */
const END = "end";

/** The topics of one client. */
export class Topics {
  readonly #byName = new Map<string, Topic>();
  readonly #byRef = new Map<bigint, Topic>();
  /** Handlers of all subscriptions. */
  readonly #everyone = new Set<Handlers>();
  readonly #listed = new Set<Topic>();
  #lastId = 0;
  #positions = false;

  readonly #told: Told;
  readonly #events: TopicEvents;

  constructor(told: Told, events: TopicEvents) {
    this.#told = told;
    this.#events = events;
  }

  /** @throws NovaError invalid for a bad limit */
  subscribe(name: string, options: SubscribeOptions): Subscription {
    const { limit = 1 } = options;
    if (!countable(limit - 1, limit)) throw new NovaError("invalid", `limit ${limit} is not a positive integer`, { topic: name });
    // Where only the server put us we ask all the same: it may since have read
    // that we left. What comes before the answer is not for this subscription.
    const known = this.#byName.get(name);
    const topic = known?.members.size ? known : newTopic(name, options);
    this.#byName.set(name, topic);
    const handlers = new Handlers();
    topic.members.add(handlers);
    this.#everyone.add(handlers);
    if (topic !== known) this.#join(topic);
    return {
      topic: name,
      get position() {
        return topic.position && { ...topic.position };
      },
      get recovered() {
        return topic.recovered;
      },
      on: (event, handler) => {
        this.#events.know(event);
        return handlers.add(event.id, handler);
      },
      onEnd: (listener) => handlers.add(END, listener),
      close: () => this.#close(topic, handlers),
    };
  }

  #close(topic: Topic, handlers: Handlers): void {
    if (!topic.members.delete(handlers)) return;
    handlers.clear();
    this.#everyone.delete(handlers);
    if (topic.members.size === 0 && this.#byName.get(topic.name) === topic) this.leave(topic.name);
  }

  /** Leaves a topic whatever subscribes to it. */
  leave(name: string): void {
    const topic = this.#byName.get(name);
    if (!topic) return;
    this.#forget(topic);
    this.#leave(name);
  }

  /**
   * What attach lists, should the session be lost: the positions known. It cannot tell
   * a limit. Others, and what does not fit a message, are joined one by one then.
   */
  cursors(largest: number): Cursor[] {
    this.lost();
    for (const topic of this.#byName.values()) {
      if (topic.position && !topic.limit && !topic.doubtful && this.#listed.size < Math.min(largest, 65_536) / CURSOR) this.#listed.add(topic);
    }
    return [...this.#listed].map((t) => ({ topic: t.name, ...t.position! }));
  }

  /** The connection is gone: nobody answers for what was listed. */
  lost(): void {
    this.#listed.clear();
  }

  /** The session goes on: what was listed does not matter, nothing was missed. */
  recovered(): void {
    this.lost();
    for (const topic of this.#byName.values()) topic.recovered = true;
  }

  /** A session, or a connection without one, begins: joins what was not listed. */
  restore(positions: boolean): void {
    this.#positions = positions;
    this.#byRef.clear();
    for (const topic of this.#listed) if (this.#byName.get(topic.name) !== topic) this.#leave(topic.name);
    for (const topic of this.#byName.values()) {
      topic.ref = undefined;
      topic.asking = false;
      if (this.#listed.has(topic)) topic.id = 0;
      else if (topic.members.size === 0) this.#forget(topic);
      else this.#join(topic);
    }
    this.lost();
  }

  /** Everyone who handles events of this topic; all topics when it is not told. */
  audience(topic: Topic | undefined): Iterable<Handlers> {
    return topic?.members ?? this.#everyone;
  }

  /** Topic of a trailer, whose position moves; undefined when it is not (any more) joined, or the frame was delivered before. */
  place({ ref, offset }: Trailer): Topic | undefined {
    const topic = this.#byRef.get(ref);
    const at = topic?.position;
    if (!at || offset <= at.offset || offset === Infinity) return undefined;
    at.offset = offset;
    return topic;
  }

  /** Takes the server's word that a topic is joined; false when it cannot be. */
  subscribed(m: TopicSubscribed): boolean {
    const { id, topic: name, epoch, offset } = m;
    if (!countable(offset)) return false;
    const known = this.#byName.get(name);
    if (id !== 0 && known?.id !== id) return true; // an answer to what was left meanwhile
    const leaving = id === 0 && this.#told.has(`-${name}`);
    // What crosses our leave speaks of the time before the request that followed.
    const topic = known && !(known.asking && leaving) ? known : newTopic(name);
    topic.doubtful = leaving;
    if (!known) this.#byName.set(name, topic);
    const old = topic.position;
    // A request repeated in doubt is answered twice, and may speak of an earlier place.
    const same = old?.epoch === epoch;
    const again = same && id !== 0 && !topic.asking;
    this.#byRef.delete(topic.ref!);
    topic.ref = refOf(epoch, name);
    topic.position = { epoch, offset: again ? Math.max(offset, old.offset) : offset };
    topic.recovered = m.recovered;
    this.#byRef.set(topic.ref, topic);
    if (id !== 0) {
      topic.asking = false;
      this.#settle(name);
    }
    if (old && !m.recovered && !again && !(same && old.offset === offset)) {
      this.#events.gap({ topic: name, from: old.offset + 1, to: same && offset > old.offset ? offset : undefined, reason: "lost" });
    }
    return true;
  }

  rejected(m: TopicRejected): void {
    const topic = this.#byName.get(m.topic);
    if (topic?.id === m.id) {
      this.#settle(m.topic);
      this.#forget(topic, refusal(m, "refused"));
    } else if (m.group) this.#events.error(refusal(m, "refused"));
  }

  unsubscribed(m: TopicUnsubscribed): void {
    const topic = this.#byName.get(m.topic);
    if (topic?.ref && !topic.asking) this.#forget(topic, refusal(m, "left by the server")); // else it speaks of the time before our request
  }

  /** Offsets of a topic that will not come, unless the position is past them. */
  gap(gap: Hole): void {
    const at = this.#byName.get(gap.topic!)?.position;
    if (!at || gap.to! <= at.offset) return;
    const from = Math.max(gap.from, at.offset + 1);
    at.offset = gap.to!;
    this.#events.gap({ ...gap, from });
  }

  #join(topic: Topic): void {
    const { name } = topic;
    const key = `+${name}`;
    if (!this.#positions) return this.#told.tell(key, subscribe, { topic: name });
    topic.asking = true;
    topic.id = ++this.#lastId;
    const at = topic.position ?? { epoch: "", offset: topic.live ? -1 : 0 };
    this.#told.tell(key, novaSubscribe, { id: topic.id, topic: name, ...at, limit: topic.limit });
  }

  #leave(topic: string): void {
    this.#settle(topic);
    this.#told.tell(`-${topic}`, unsubscribe, { topic });
  }

  /** Whether the server has read what was told before does not matter any more. */
  #settle(name: string): void {
    for (const sign of "+-") this.#told.delete(sign + name);
  }

  /** It ends for its members, if any: on the server's word, or because the application leaves it. */
  #forget({ name, ref, members }: Topic, cause?: NovaError): void {
    this.#byName.delete(name);
    this.#byRef.delete(ref!);
    for (const handlers of members) this.#everyone.delete(handlers);
    if (cause && members.size) this.#events.error(cause);
    for (const handlers of members) handlers.dispatch(END, cause, (e) => this.#events.error(threw("listener of onEnd", e)));
  }
}

/** What the server says no to, and why. */
function refusal(m: TopicUnsubscribed & { group?: string }, why: string): NovaError {
  return new NovaError(codeOf(m.code), `${m.topic ? `topic ${m.topic}` : `group ${m.group}`}: ${m.message || why}`, { topic: m.topic || undefined });
}

function newTopic(name: string, { from, limit = 0 }: SubscribeOptions = {}): Topic {
  const position = typeof from === "object" ? { ...from } : undefined;
  return { name, live: from === "live", limit, position, members: new Set(), id: 0, recovered: false };
}

/** First 8 bytes of SHA-256(epoch, 0x00, topic), as they stand in a trailer. */
export function refOf(epoch: string, topic: string): bigint {
  return sha256Head(utf8(`${epoch}\0${topic}`));
}
