import * as control from "./control/index.js";
import { webSocketOf } from "./options.js";
import type { WebSocketClass, WebSocketLike } from "./socket.js";
import { Reader, parseHeader } from "./wire/index.js";

/** Most bytes of a message of several frames. */
const MOST = 16_384;
const OPEN = 1;

/**
 * Makes a WebSocket class that sends what one task of the program has to say in as
 * few messages as it may, towards servers that take several frames in a message:
 * `connect(url, { webSocket: batching() })`. It pays for pages that send hundreds of
 * events a second. What servers send comes in batches with any class.
 *
 * @param Class the class to build on. Default: the global one.
 * @throws NovaError failed_precondition, without one
 */
export function batching(Class: WebSocketClass = webSocketOf({})): WebSocketClass {
  return class extends Batching {
    constructor(url: string, protocols?: string[]) {
      super(new Class(url, protocols));
    }
  };
}

/** A socket that holds frames until the task has ended. */
class Batching implements WebSocketLike {
  onopen: any = null;
  onmessage: any = null;
  onclose: any = null;
  onerror: any = null;
  readonly #ws: WebSocketLike;
  readonly #reader = new Reader();
  #held: Uint8Array[] = [];
  #size = 0;
  /** Bytes of a message of several frames; 0 = not allowed, or not yet. */
  #most = 0;
  /** The server has said all that matters here. */
  #settled = false;

  constructor(ws: WebSocketLike) {
    this.#ws = ws;
    ws.onopen = (ev: unknown) => this.onopen?.(ev);
    ws.onclose = (ev: unknown) => this.onclose?.(ev);
    ws.onerror = (ev: unknown) => this.onerror?.(ev);
    ws.onmessage = (ev: { data: unknown }) => {
      if (!this.#settled && ev.data instanceof ArrayBuffer) this.#look(new DataView(ev.data));
      this.onmessage?.(ev);
    };
  }

  get binaryType(): string {
    return this.#ws.binaryType;
  }

  set binaryType(type: string) {
    this.#ws.binaryType = type;
  }

  get readyState(): number {
    return this.#ws.readyState;
  }

  get bufferedAmount(): number {
    return this.#ws.bufferedAmount + this.#size;
  }

  send(frame: Uint8Array): void {
    if (this.#size + frame.length > this.#most) this.#flush();
    if (frame.length > this.#most) return this.#ws.send(frame);
    this.#size += frame.length;
    if (this.#held.push(frame) === 1) queueMicrotask(() => this.#flush());
  }

  close(code?: number, reason?: string): void {
    this.#flush();
    this.#ws.close(code, reason);
  }

  #flush(): void {
    const held = this.#held;
    const message = new Uint8Array(this.#size);
    this.#held = [];
    this.#size = 0;
    let at = 0;
    for (const frame of held) {
      message.set(frame, at);
      at += frame.length;
    }
    if (at > 0 && this.readyState === OPEN) this.#ws.send(message);
  }

  /** Learns from the server's hello, and from nova.session, what it takes. */
  #look(view: DataView): void {
    try {
      const { id, start, end } = parseHeader(view);
      if (id === control.hello.id) {
        const { caps } = this.#reader.payload(view, start, end, control.hello.table);
        if (!caps.includes("batch/1")) this.#settled = true;
        else if (!caps.includes("session/1")) this.#take(MOST);
      } else if (id === control.novaSession.id) {
        this.#take(this.#reader.payload(view, start, end, control.novaSession.table).maxMessage);
      }
    } catch {} // the client reports it
  }

  #take(largest: number): void {
    this.#most = largest > 0 ? Math.min(largest, MOST) : MOST;
    this.#settled = true;
  }
}
