// The part of WebSocket the client uses. The event handlers are `any` because
// the DOM's and ws's own types differ in their parameters and both must fit.
export interface WebSocketLike {
  /** "arraybuffer" must be honoured. */
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  onopen: any;
  onmessage: any;
  onclose: any;
  onerror: any;
  send(data: any): void;
  close(code?: number, reason?: string): void;
}

/** A WebSocket class: the browser's own, or `ws` in Node. */
export type WebSocketClass = new (url: string, protocols?: string[]) => WebSocketLike;

/** What happens on a socket. After close (either way) nothing more is called. */
export interface SocketEvents {
  open(): void;
  message(data: string | ArrayBuffer): void;
  close(code: number, reason: string): void;
}

const OPEN = 1;

/** One attempt to connect and, when it succeeds, its connection. */
export class Socket {
  readonly #ws: WebSocketLike;

  constructor(Class: WebSocketClass, url: string, protocols: string[] | undefined, events: SocketEvents) {
    const ws = new Class(url, protocols);
    this.#ws = ws;
    ws.binaryType = "arraybuffer";
    ws.onopen = () => events.open();
    ws.onmessage = (ev: { data: string | ArrayBuffer }) => events.message(ev.data);
    ws.onclose = (ev: { code: number; reason: string }) => {
      this.#detach();
      events.close(ev.code, ev.reason);
    };
    // A close event always follows; without a handler ws would throw.
    ws.onerror = () => {};
  }

  /** Bytes accepted but not sent. */
  get buffered(): number {
    return this.#ws.bufferedAmount;
  }

  /** Sends a frame; false when the socket is not open. */
  send(frame: Uint8Array): boolean {
    if (this.#ws.readyState !== OPEN) return false;
    this.#ws.send(frame);
    return true;
  }

  /** Closes, or ends the attempt: should it still open, it is closed then. */
  close(code: number, reason: string): void {
    this.#detach();
    this.#ws.onopen = () => this.close(code, reason);
    // Browsers refuse codes of the protocol's own; some classes refuse while
    // connecting, onopen does it then.
    for (const c of [code, 1000]) {
      try {
        return this.#ws.close(c, reason);
      } catch {}
    }
  }

  #detach(): void {
    this.#ws.onopen = this.#ws.onmessage = this.#ws.onclose = null;
  }
}
