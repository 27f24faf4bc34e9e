/**
 * Calls fn when the page or the network may have come back: `online`,
 * `pageshow`, and `visibilitychange` to visible. Returns a function that stops
 * it. Where there is no page (Node, workers without these events) nothing happens.
 */
export function onWake(fn: () => void): () => void {
  const scope = globalThis as Partial<Pick<typeof globalThis, "addEventListener" | "removeEventListener">>;
  const page = typeof document === "undefined" ? undefined : document;
  const visible = () => {
    if (page?.visibilityState === "visible") fn();
  };
  if (typeof scope.addEventListener !== "function") return () => {};
  scope.addEventListener("online", fn);
  scope.addEventListener("pageshow", fn);
  page?.addEventListener("visibilitychange", visible);
  return () => {
    scope.removeEventListener?.("online", fn);
    scope.removeEventListener?.("pageshow", fn);
    page?.removeEventListener("visibilitychange", visible);
  };
}
