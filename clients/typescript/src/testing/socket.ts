import type { WebSocketLike } from "../socket.js";

/** The server's side of a socket in memory. */
export interface Peer {
  /** The client sent a frame. */
  frame(data: Uint8Array): void;
  /** The client closed. */
  closed(code: number): void;
}

const [CONNECTING, OPEN, CLOSED] = [0, 1, 3];

/** One end of a connection in memory, as the client sees it. */
export class MemorySocket implements WebSocketLike {
  binaryType = "";
  readyState = CONNECTING;
  readonly bufferedAmount = 0;
  onopen: any = null;
  onmessage: any = null;
  onclose: any = null;
  onerror: any = null;
  #peer: Peer | undefined;

  constructor(_url = "", readonly protocols?: readonly string[]) {}

  /** The server takes the connection; false when the client gave it up. */
  open(peer: Peer): boolean {
    if (this.readyState !== CONNECTING) return false;
    this.#peer = peer;
    this.readyState = OPEN;
    this.onopen?.();
    return true;
  }

  /** The server sends a frame. */
  deliver(frame: Uint8Array): void {
    if (this.readyState === OPEN) this.onmessage?.({ data: frame.slice().buffer });
  }

  /** The server, or the network, ends the connection. */
  end(code: number, reason: string): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.onclose?.({ code, reason });
  }

  send(data: Uint8Array): void {
    this.#peer?.frame(data.slice());
  }

  close(code = 1005, reason = ""): void {
    if (this.readyState === CLOSED) return;
    this.#peer?.closed(code);
    this.end(code, reason);
  }
}
