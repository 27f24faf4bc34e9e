import { useInsertionEffect, useState } from "react";

/** A place that always holds the newest of what a component renders with. */
export function useCurrent<F>(call: F): { call: F } {
  const [place] = useState({ call });
  // Before every effect, and not while rendering, which may come to nothing.
  useInsertionEffect(() => {
    place.call = call;
  });
  return place;
}
