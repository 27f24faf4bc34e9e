/**
 * Calls fn when the page or the network may have come back: `online`,
 * `pageshow`, and `visibilitychange` to visible. Returns a function that stops
 * it. Where there is no page (Node, workers without these events) nothing happens.
 */
export function onWake(fn: () => void): () => void {
  const stop = new AbortController();
  const wake = (e: Event) => {
    if (e.type !== "visibilitychange" || document.visibilityState === "visible") fn();
  };
  // All come to the window; visibilitychange bubbles up to it.
  for (const name of ["online", "pageshow", "visibilitychange"]) globalThis.addEventListener?.(name, wake, stop);
  return () => stop.abort();
}
