import * as control from "../control/index.js";
import { createClient } from "../connect.js";
import type { Client } from "../client.js";
import { encode } from "../encode.js";
import { NovaError, numberOf as wireNumberOf } from "../error.js";
import type { Code } from "../error.js";
import type { Options } from "../options.js";
import type { WebSocketClass } from "../socket.js";
import { Reader, Writer } from "../wire/index.js";
import type { CallDescriptor, EventDescriptor, Schema } from "../wire/index.js";
import { Calls } from "./calls.js";
import type { CallFrom } from "./calls.js";
import { Connection } from "./connection.js";
import type { ConnectionEvents } from "./connection.js";
import { Door } from "./door.js";
import type { Authenticate } from "./door.js";
import { Line } from "./line.js";
import { Session } from "./session.js";
import { MemorySocket } from "./socket.js";
import { Topic } from "./topic.js";

/** Options of a test server; every one may be left out. */
export interface TestServerOptions {
  /** The generated schema; clients made with `client()` and `connect()` get it, too. */
  schema?: Schema;
  /** Says no to a topic: returns the code to refuse it with. Default: everyone may join. */
  refuseTopic?: (topic: string, clientId: string) => Code | undefined;
  /**
   * Judges the token of each connection, and each by which it is renewed: why it is
   * refused, or for how many ms it holds. Nobody is closed when that is over: that is
   * `disconnect(4401)`. Default: everyone may enter.
   */
  authenticate?: Authenticate;
}

/** Whom an event is for; no field is everyone. */
export interface PublishTarget {
  topic?: string;
  group?: string;
  clientId?: string;
}

/** A client as the server sees it. */
export interface TestClientInfo {
  readonly clientId: string;
  /** It has a socket now. */
  readonly connected: boolean;
  readonly topics: readonly string[];
  readonly groups: readonly string[];
}

/** Who sent an event. */
export interface From {
  readonly clientId: string;
}

interface Received {
  readonly id: number;
  readonly payload: Uint8Array;
  taken: boolean;
}

/**
 * A server in memory that speaks the protocol: sessions, topics with history and
 * positions, groups, acknowledged sends, calls, tokens. No socket is opened. What it sends
 * arrives in a microtask; `publish` and `drop` have arrived when they return.
 */
export class TestServer {
  /** Give it to a client as option `webSocket`. */
  readonly webSocket: WebSocketClass;
  readonly #options: TestServerOptions;
  readonly #line = new Line();
  readonly #connections = new Set<Connection>();
  readonly #sessions = new Map<string, Session>();
  readonly #topics = new Map<string, Topic>();
  readonly #received: Received[] = [];
  readonly #handlers = new Map<number, (session: Session, payload: Uint8Array) => void>();
  readonly #clients = new Set<Client>();
  readonly #writer = new Writer();
  readonly #calls = new Calls();
  readonly #door: Door;
  #waiting: { ready: () => boolean; done: () => void }[] = [];
  #down: { code: number; reason: string } | undefined;
  #made = 0;

  constructor(options: TestServerOptions = {}) {
    this.#options = options;
    this.#door = new Door(options.authenticate);
    const dial = (socket: MemorySocket) => this.#line.push(() => this.#accept(socket));
    this.webSocket = class extends MemorySocket {
      constructor(url?: string, protocols?: readonly string[]) {
        super(url, protocols);
        dial(this);
      }
    };
  }

  /** Makes a client of this server that does not connect yet. It reconnects within 1 ms. */
  client(options: Options = {}): Client {
    const { schema } = this.#options;
    const client = createClient("ws://test.invalid/ws", {
      webSocket: this.webSocket, reconnect: { initialMs: 1, maxMs: 1 }, ...(schema && { schema }), ...options,
    });
    this.#clients.add(client);
    client.onStatus(() => this.#changed());
    return client;
  }

  /** As client, and starts it. */
  connect(options: Options = {}): Client {
    const client = this.client(options);
    client.connect();
    return client;
  }

  /** Clients that have a session, in the order of their coming. */
  get clients(): TestClientInfo[] {
    return [...this.#sessions.values()].map((s) => ({
      clientId: s.clientId, connected: s.send !== undefined, topics: [...s.topics.keys()], groups: [...s.groups],
    }));
  }

  /** Resolves when so many clients are connected. */
  connected(count = 1): Promise<void> {
    return this.#until(() => this.clients.filter((c) => c.connected).length >= count);
  }

  /**
   * Sends an event; it has arrived when this returns. Topics keep the last 1,024.
   * @throws NovaError invalid when the value does not fit the event
   */
  publish<T>(event: EventDescriptor<T>, value: NoInfer<T>, target: PublishTarget = {}): void {
    const frame = encode(this.#writer, event, value).slice();
    const { topic, group, clientId } = target;
    const placed = topic === undefined ? { frame, trailer: undefined } : this.#topic(topic).add(event, value, frame);
    for (const s of this.#sessions.values()) {
      if (topic !== undefined && !s.topics.has(topic)) continue;
      if (group !== undefined && !s.groups.has(group)) continue;
      if (clientId === undefined || clientId === s.clientId) s.number(placed);
    }
    this.flush();
  }

  /** What clients have sent of an event so far. */
  received<T>(event: EventDescriptor<T>): T[] {
    return this.#received.filter((r) => r.id === event.id).map((r) => decode(event, r.payload));
  }

  /** Waits for what clients send of an event; each value comes once. */
  async next<T>(event: EventDescriptor<T>): Promise<T> {
    const find = () => this.#received.find((r) => r.id === event.id && !r.taken);
    await this.#until(() => find() !== undefined);
    const found = find()!;
    found.taken = true;
    return decode(event, found.payload);
  }

  /** Calls handler with every event of that kind that a client sends, one handler for each event. */
  on<T>(event: EventDescriptor<T>, handler: (value: T, from: From) => void): void {
    this.#handlers.set(event.id, (s, payload) => handler(decode(event, payload), { clientId: s.clientId }));
  }

  /**
   * Answers a call of clients, one handler for each. The caller gets code and message
   * of a NovaError; anything else that is thrown is "internal error" to it.
   */
  onCall<Q, R>(call: CallDescriptor<Q, R>, handler: (request: Q, from: CallFrom) => R | Promise<R>): void {
    this.#calls.on(call, handler);
  }

  /**
   * Calls a client and waits for its answer.
   * Rejects with the NovaError of the client's handler; unavailable (it is not
   * connected), unknown_outcome (the connection was lost) or deadline_exceeded.
   */
  call<Q, R>(clientId: string, call: CallDescriptor<Q, R>, request: NoInfer<Q>, options: { deadlineMs?: number } = {}): Promise<R> {
    return this.#calls.make([...this.#sessions.values()].find((s) => s.clientId === clientId), call, request, options.deadlineMs);
  }

  /**
   * Ends all connections and lets none in until `restore`. Sessions live on: what
   * is published meanwhile follows when a client is back.
   * @param code close code; default 1006, a lost connection
   */
  drop(code = 1006, reason = ""): void {
    this.#down = { code, reason };
    this.disconnect(code, reason);
  }

  /**
   * Lets clients in again; resolves when those made here that want a connection have one.
   * @param options.forget the sessions are lost, as after a restart; topics keep their history
   */
  restore(options: { forget?: boolean } = {}): Promise<void> {
    this.#down = undefined;
    if (options.forget) for (const s of [...this.#sessions.values()]) this.#end(s);
    return this.#until(() => [...this.#clients].every((c) => c.status.state !== "reconnecting" && c.status.state !== "connecting"));
  }

  /** Ends all connections; clients may come back at once. */
  disconnect(code = 1006, reason = ""): void {
    for (const c of [...this.#connections]) {
      this.#lost(c);
      this.#line.push(() => c.socket.end(code, reason));
      if (FINAL.includes(code) && c.session) this.#end(c.session);
    }
    this.flush();
  }

  /** Says that the server goes away and when to come back, which is followed by `disconnect`. */
  goaway(retryAfterMs: number, reason = "going away"): void {
    for (const s of this.#sessions.values()) s.say(control.novaGoaway, { reason, retryAfterMs });
    this.flush();
  }

  /** Puts a client out of a topic; the code tells it why. */
  kick(clientId: string, topic: string, code: Code = "denied", message = ""): void {
    for (const s of this.#sessions.values()) {
      if (s.clientId === clientId && s.topics.delete(topic)) {
        s.tell(control.novaUnsubscribed, { topic, code: numberOf(code), message });
      }
    }
    this.flush();
  }

  /** Everything on its way arrives now. */
  flush(): void {
    this.#line.flush();
    this.#changed();
  }

  #accept(socket: MemorySocket): void {
    if (this.#down) return socket.end(this.#down.code, this.#down.reason);
    const connection = new Connection(socket, this.#events);
    const { schema } = this.#options;
    const caps = ["session/1", "topics/1", "batch/1", "calls/1", ...this.#door.caps, ...(schema ? [`schema/${schema.fingerprint}`] : [])];
    connection.say(control.hello, { version: 2, caps, lastSeq: 0 }); // on its way before the client says anything
    this.#connections.add(connection);
    if (!socket.open(connection)) this.#connections.delete(connection); // given up meanwhile
  }

  #welcome(connection: Connection): void {
    connection.admitted = true;
    connection.say(control.welcome, { clientId: "", groups: [] });
  }

  readonly #events: ConnectionEvents = {
    attach: (connection, name, seq) => {
      const held = this.#sessions.get(name);
      if (held) for (const c of [...this.#connections]) if (c.session === held && c !== connection) this.#replaced(c);
      if (held?.holds(seq)) return held;
      if (held) this.#end(held);
      const n = ++this.#made;
      const session = new Session(`test.${n}`, `client-${n}`);
      this.#sessions.set(session.name, session);
      return session;
    },
    hello: (connection, caps) => {
      if (this.#door.enter(connection, caps)) this.#welcome(connection);
    },
    token: (connection, m) => {
      const first = !connection.session;
      if (this.#door.token(connection, m) && first) this.#welcome(connection);
    },
    refused: (connection, code, reason) => {
      this.#lost(connection);
      this.#line.push(() => connection.socket.end(code, reason));
    },
    call: (s, m) => void this.#calls.serve(s, m),
    cancel: (s, id) => this.#calls.cancel(s, id),
    reply: (s, m) => this.#calls.answered(s, m),
    attached: () => this.#line.push(() => this.#changed()),
    send: (socket, frame) => this.#line.push(() => socket.deliver(frame)),
    cursor: (s, { topic, epoch, offset }) => this.#join(s, 0, topic, epoch, offset, 0),
    subscribe: (s, m) => this.#join(s, m.id, m.topic, m.epoch, m.offset, m.limit),
    unsubscribe: (s, topic) => {
      if (s.topics.delete(topic)) s.tell(control.novaUnsubscribed, { topic, code: 0, message: "" });
    },
    snapshot: (s, { topic, fromSeq }) => {
      for (const { frame } of this.#topics.get(topic)?.after(fromSeq) ?? []) s.number({ frame, trailer: undefined });
    },
    group: (s, group, member) => {
      if (member) s.groups.add(group);
      else s.groups.delete(group);
      s.say(control.novaGroups, { groups: [...s.groups] });
    },
    application: (s, { id, view, start, end }) => {
      const payload = new Uint8Array(view.buffer, view.byteOffset + start, end - start).slice();
      this.#received.push({ id, payload, taken: false });
      this.#handlers.get(id)?.(s, payload);
      this.#changed();
    },
    closed: (connection, code) => {
      this.#lost(connection);
      if ((code === 1000 || code === 1001) && connection.session) this.#end(connection.session);
    },
  };

  #join(s: Session, id: number, name: string, epoch: string, offset: number, limit: number): void {
    const code = this.#options.refuseTopic?.(name, s.clientId);
    if (code !== undefined) return s.tell(control.novaRejected, { id, topic: name, group: "", code: numberOf(code), message: "" });
    const topic = this.#topic(name);
    const joined = s.topics.has(name) ? { offset: topic.head, recovered: false, frames: [] } : topic.join(epoch, offset, limit);
    s.join(topic, id, joined);
  }

  #topic(name: string): Topic {
    let topic = this.#topics.get(name);
    if (!topic) this.#topics.set(name, (topic = new Topic(name, `epoch-${this.#topics.size + 1}`)));
    return topic;
  }

  #replaced(connection: Connection): void {
    this.#lost(connection);
    this.#line.push(() => connection.socket.end(1000, "replaced by newer session"));
  }

  /** The connection is gone; its session stays. */
  #lost(connection: Connection): void {
    if (!this.#connections.delete(connection) || !connection.session) return;
    connection.session.send = undefined;
    this.#calls.lost(connection.session);
  }

  #end(session: Session): void {
    this.#sessions.delete(session.name);
  }

  #until(ready: () => boolean): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ ready, done });
      this.#changed();
    });
  }

  #changed(): void {
    this.#waiting = this.#waiting.filter((w) => {
      const ready = w.ready();
      if (ready) w.done();
      return !ready;
    });
  }
}

/** Codes with which a server ends the session, too. */
const FINAL = [1000, 1002, 1003, 1008, 1009, 4403];

function decode<T>(event: EventDescriptor<T>, payload: Uint8Array): T {
  return new Reader().payload(new DataView(payload.buffer), 0, payload.length, event.table);
}

function numberOf(code: Code): number {
  const n = wireNumberOf(code);
  if (n > 0) return n;
  throw new NovaError("invalid", `${code} does not go over the wire`);
}
