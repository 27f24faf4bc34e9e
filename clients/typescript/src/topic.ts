import type { TopicRejected, TopicSubscribed, TopicUnsubscribed } from "./control/index.js";
import { NovaError, codeOf } from "./error.js";
import { Handlers } from "./handlers.js";
import type { Handle, Handler } from "./handlers.js";
import { sha256Head } from "./sha256.js";
import type { EventDescriptor } from "./wire/index.js";
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
   * Handles an event of this topic. A server that does not tell topics with its
   * frames makes it see every event of that kind while the subscription is open.
   */
  on<T>(event: EventDescriptor<T>, handler: Handler<T>): Handle;
  /** Leaves; handlers of this subscription are not called any more. */
  close(): void;
}

/** What the topics need from their client. */
export interface TopicEvents {
  /** Base protocol: join or leave by name. */
  join(topic: string): void;
  leave(topic: string): void;
  /** topics/1: join with a cursor. */
  joinAt(id: number, topic: string, epoch: string, offset: number): void;
  /** An event is handled: make it decodable. */
  know(event: EventDescriptor<any>): void;
  error(e: NovaError): void;
}

class Member implements Subscription {
  readonly handlers = new Handlers();

  constructor(readonly entry: Topic, private readonly topics: Topics) {}

  get topic(): string {
    return this.entry.name;
  }

  get position(): Position | undefined {
    return this.entry.position;
  }

  get recovered(): boolean {
    return this.entry.recovered;
  }

  on<T>(event: EventDescriptor<T>, handler: Handler<T>): Handle {
    this.topics.know(event);
    return this.handlers.on(event, handler);
  }

  close(): void {
    this.topics.close(this);
  }
}

/** A joined topic. Without members it was joined by the server. */
export class Topic {
  readonly members = new Set<Member>();
  /** Handlers of the members; replaced, never changed. */
  audience: readonly Handlers[] = [];
  /** Request under way or answered last. */
  id = 0;
  position: Position | undefined;
  recovered = false;
  ref: bigint | undefined;

  constructor(readonly name: string, readonly from: "all" | "live" | Position) {}
}

/** The topics of one client. */
export class Topics {
  readonly #byName = new Map<string, Topic>();
  readonly #byRef = new Map<bigint, Topic>();
  #everyone: readonly Handlers[] = [];
  #lastId = 0;
  #connected = false;
  #positions = false;

  constructor(private readonly events: TopicEvents) {}

  know(event: EventDescriptor<any>): void {
    this.events.know(event);
  }

  subscribe(name: string, from: "all" | "live" | Position): Subscription {
    let topic = this.#byName.get(name);
    const known = topic !== undefined;
    topic ??= new Topic(name, from);
    this.#byName.set(name, topic);
    const member = new Member(topic, this);
    topic.members.add(member);
    this.#gather(topic);
    if (!known && this.#connected) this.#join(topic);
    return member;
  }

  close(member: Member): void {
    const { entry } = member;
    if (!entry.members.delete(member)) return;
    member.handlers.clear();
    this.#gather(entry);
    if (entry.members.size === 0 && this.#byName.get(entry.name) === entry) this.leave(entry.name);
  }

  /** Leaves a topic whatever subscribes to it. */
  leave(name: string): void {
    const topic = this.#byName.get(name);
    if (topic === undefined) return;
    this.#forget(topic);
    if (this.#connected) this.events.leave(name);
  }

  /** A connection is ready: joins everything again. */
  restore(positions: boolean): void {
    this.#connected = true;
    this.#positions = positions;
    this.#byRef.clear();
    for (const topic of [...this.#byName.values()]) {
      topic.ref = undefined;
      if (topic.members.size === 0) this.#forget(topic);
      else this.#join(topic);
    }
  }

  /** The connection is gone. */
  lost(): void {
    this.#connected = false;
  }

  /** Everyone who handles events of this topic; all topics when it is not told. */
  audience(topic: Topic | undefined): readonly Handlers[] {
    return topic?.audience ?? this.#everyone;
  }

  /** Topic of a trailer; undefined when it is not (any more) joined. */
  find(ref: bigint): Topic | undefined {
    return this.#byRef.get(ref);
  }

  /** Moves the position; false when the frame was delivered before. */
  advance(topic: Topic, offset: number): boolean {
    const at = topic.position;
    if (at === undefined || offset <= at.offset) return false;
    topic.position = { epoch: at.epoch, offset };
    return true;
  }

  subscribed(m: TopicSubscribed): void {
    let topic = this.#byName.get(m.topic);
    if (m.id !== 0 && topic?.id !== m.id) return; // an answer to what was left meanwhile
    topic ??= new Topic(m.topic, "live");
    this.#byName.set(m.topic, topic);
    if (topic.ref !== undefined) this.#byRef.delete(topic.ref);
    topic.ref = refOf(m.epoch, m.topic);
    topic.position = { epoch: m.epoch, offset: m.offset };
    topic.recovered = m.recovered;
    this.#byRef.set(topic.ref, topic);
  }

  rejected(m: TopicRejected): void {
    const topic = this.#byName.get(m.topic);
    if (topic !== undefined && topic.id === m.id) this.#forget(topic);
    const what = m.topic !== "" ? `topic ${m.topic}` : `group ${m.group}`;
    this.events.error(new NovaError(codeOf(m.code), `${what}: ${m.message || "refused"}`, { topic: m.topic || undefined }));
  }

  unsubscribed(m: TopicUnsubscribed): void {
    const topic = this.#byName.get(m.topic);
    if (topic === undefined) return;
    this.#forget(topic);
    if (m.code === 0) return;
    this.events.error(new NovaError(codeOf(m.code), `topic ${m.topic}: ${m.message || "left by the server"}`, { topic: m.topic }));
  }

  #join(topic: Topic): void {
    if (!this.#positions) return this.events.join(topic.name);
    topic.id = ++this.#lastId;
    const from = topic.position ?? topic.from;
    if (from === "all") this.events.joinAt(topic.id, topic.name, "", 0);
    else if (from === "live") this.events.joinAt(topic.id, topic.name, "", -1);
    else this.events.joinAt(topic.id, topic.name, from.epoch, from.offset);
  }

  #gather(topic: Topic): void {
    topic.audience = [...topic.members].map((m) => m.handlers);
    this.#everyone = [...this.#byName.values()].flatMap((t) => t.audience);
  }

  #forget(topic: Topic): void {
    if (this.#byName.get(topic.name) === topic) this.#byName.delete(topic.name);
    this.#gather(topic);
    if (topic.ref !== undefined && this.#byRef.get(topic.ref) === topic) this.#byRef.delete(topic.ref);
  }
}

/** First 8 bytes of SHA-256(epoch, 0x00, topic), as they stand in a trailer. */
export function refOf(epoch: string, topic: string): bigint {
  return sha256Head(utf8(`${epoch}\0${topic}`));
}
