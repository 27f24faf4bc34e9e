/** Looks at a frame as it came from the socket; true = it was the one wanted. */
export type FrameTest = (frame: ArrayBuffer) => boolean;

/**
 * Gives a page frames as they come from the socket. The client stays as it is:
 * it only gets another WebSocket class. While no frame is wanted there is no
 * listener, so that it costs nothing.
 */
export class Tap {
  /** What the client takes as its WebSocket class. */
  readonly socket: typeof WebSocket;
  private current: WebSocket | undefined;
  private wanted: FrameTest | undefined;

  constructor() {
    const opened = (socket: WebSocket) => {
      this.current?.removeEventListener("message", this.look);
      this.current = socket;
      if (this.wanted !== undefined) socket.addEventListener("message", this.look);
    };
    this.socket = class extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        opened(this);
      }
    };
  }

  /** Calls test with the frames to come until it returns true, over reconnects too. */
  next(test: FrameTest): void {
    if (this.wanted === undefined) this.current?.addEventListener("message", this.look);
    this.wanted = test;
  }

  private readonly look = (e: MessageEvent<unknown>): void => {
    if (!(e.data instanceof ArrayBuffer) || this.wanted?.(e.data) !== true) return;
    this.wanted = undefined;
    this.current?.removeEventListener("message", this.look);
  };
}
