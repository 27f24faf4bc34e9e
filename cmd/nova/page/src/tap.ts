/** Sees each frame as it came from the socket, before the client decodes it. */
export type FrameObserver = (frame: ArrayBuffer) => void;

/**
 * A WebSocket class for the client that also shows each binary message to an
 * observer. The client stays as it is: it only gets another socket.
 */
export function tappedSocket(observe: FrameObserver): typeof WebSocket {
  return class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      this.addEventListener("message", (e: MessageEvent<unknown>) => {
        if (e.data instanceof ArrayBuffer) observe(e.data);
      });
    }
  };
}
