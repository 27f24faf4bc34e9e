/**
 * Calls fn when the page or the network may have come back: `online`,
 * `pageshow`, and `visibilitychange` to visible. Returns a function that stops
 * it. Where there is no page (Node, workers without these events) nothing happens.
 */
export function onWake(fn: () => void): () => void {
  const stop = new AbortController();
  const page: Document | undefined = globalThis.document;
  const listen = (target: Partial<EventTarget> | undefined, name: string, then = fn) => {
    target?.addEventListener?.(name, then, stop); // stop.signal
  };
  listen(globalThis, "online");
  listen(globalThis, "pageshow");
  listen(page, "visibilitychange", () => page.visibilityState === "visible" && fn());
  return () => stop.abort();
}
