import * as control from "../control/index.js";
import { Reader, parseHeader } from "../wire/index.js";
import type { EventDescriptor, Header } from "../wire/index.js";
import type { Session } from "./session.js";
import type { MemorySocket } from "./socket.js";

/** What a connection asks of its server. */
export interface ConnectionEvents {
  /** The session of that name, or a new one. */
  attach(connection: Connection, name: string, seq: number): Session;
  cursor(session: Session, cursor: control.Cursor): void;
  subscribe(session: Session, m: control.TopicSubscribe): void;
  unsubscribe(session: Session, topic: string): void;
  snapshot(session: Session, m: control.SnapshotRequest): void;
  group(session: Session, group: string, member: boolean): void;
  application(session: Session, frame: Header): void;
  /** The client closed. */
  closed(connection: Connection, code: number): void;
  attached(): void;
  /** Puts a frame on its way. */
  send(socket: MemorySocket, frame: Uint8Array): void;
}

/** The server's end of one socket. */
export class Connection {
  readonly socket: MemorySocket;
  session: Session | undefined;
  readonly #events: ConnectionEvents;
  readonly #reader = new Reader();
  readonly #handlers = new Map<number, (frame: Header) => void>();

  constructor(socket: MemorySocket, events: ConnectionEvents) {
    this.socket = socket;
    this.#events = events;
    this.#on(control.hello, () => {});
    this.#on(control.novaAck, () => {});
    this.#on(control.novaAttach, (m) => this.#attach(m));
    this.#on(control.ping, ({ ts }) => this.session?.say(control.pong, { ts }));
    this.#on(control.novaSubscribe, (m) => this.#with((s) => events.subscribe(s, m)));
    this.#on(control.unsubscribe, (m) => this.#with((s) => events.unsubscribe(s, m.topic)));
    this.#on(control.snapshotRequest, (m) => this.#with((s) => events.snapshot(s, m)));
    this.#on(control.joinGroup, (m) => this.#with((s) => events.group(s, m.group, true)));
    this.#on(control.leaveGroup, (m) => this.#with((s) => events.group(s, m.group, false)));
    this.#on(control.rpcCall, (m) => {
      this.#with((s) => s.say(control.rpcResult, { id: m.id, ok: false, err: `no handler for ${m.name}`, payloadB64: "" }));
    });
  }

  /** Takes a frame of the client. */
  frame(data: Uint8Array): void {
    const frame = parseHeader(new DataView(data.buffer, data.byteOffset, data.byteLength));
    const handle = this.#handlers.get(frame.id);
    if (handle) handle(frame);
    else this.#with((s) => this.#application(s, frame));
  }

  closed(code: number): void {
    this.#events.closed(this, code);
  }

  #on<T>(event: EventDescriptor<T>, handle: (m: T) => void): void {
    this.#handlers.set(event.id, ({ view, start, end }) => handle(this.#reader.payload(view, start, end, event.table)));
  }

  #with(fn: (session: Session) => void): void {
    if (this.session) fn(this.session);
  }

  #attach({ session: name, lastSeq, topics }: control.Attach): void {
    const s = this.#events.attach(this, name, lastSeq);
    const recovered = s.name === name;
    this.session = s;
    s.send = (frame) => this.#events.send(this.socket, frame);
    s.say(control.novaSession, {
      session: s.name, clientId: s.clientId, recovered, nextSeq: recovered ? lastSeq + 1 : s.nextSeq, missed: recovered ? s.nextSeq - 1 - lastSeq : -1,
      received: s.received, ttlMs: 60_000, heartbeatMs: 0, maxMessage: 0, rate: 0, burst: 0,
    });
    if (recovered) s.replay(lastSeq);
    else for (const cursor of topics) this.#events.cursor(s, cursor);
    this.#events.attached();
  }

  /** A frame that is repeated after a reconnect is handled once. */
  #application(s: Session, frame: Header): void {
    if (frame.seq > 0) {
      if (frame.seq <= s.received) return;
      s.received = frame.seq;
    }
    this.#events.application(s, frame);
    if (frame.seq > 0) s.say(control.novaAck, { seq: s.received });
  }
}
