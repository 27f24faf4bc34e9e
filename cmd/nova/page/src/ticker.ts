/** Something drawn at most once per animation frame. */
export type Part = (now: number) => void;

/**
 * Runs all parts once per animation frame. Events only change state; parts turn
 * the newest state into pixels, so 20,000 events a second cost 60 paints.
 * Browsers stop it in hidden tabs.
 */
export function everyFrame(parts: readonly Part[]): void {
  const frame = (now: number) => {
    for (const part of parts) part(now);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

/** A part that runs at most every `ms`. */
export function paced(ms: number, part: Part): Part {
  let next = 0;
  return (now) => {
    if (now < next) return;
    next = now + ms;
    part(now);
  };
}

/** Whether the visitor asked for less motion, now. */
export function calm(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
