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

/** readyState of a socket that takes frames. */
export const OPEN = 1;

/** Closes, or ends the attempt: should it still open, it is closed then. */
export function hangUp(ws: WebSocketLike, code: number, reason: string): void {
  ws.onopen = () => hangUp(ws, code, reason);
  // Browsers refuse codes of the protocol's own; some classes refuse while
  // connecting, onopen does it then.
  for (const c of [code, 1000]) {
    try {
      return ws.close(c, reason);
    } catch {}
  }
}
