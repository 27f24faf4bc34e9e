// 1000 closed by server or replaced, 1002 wire version, 1003 text frame, 1007 not
// UTF-8, 1009 too big, 1010 extension missing, 4000 paused, 4403 not allowed.
const FINAL = [1000, 1002, 1003, 1007, 1009, 1010, 4000, 4403];

/** A rate or a policy was broken: only the former may come back, later. */
export const POLICY = 1008;
/** It may come back with a fresh token. */
export const TOKEN = 4401;

/** Reports whether no other attempt makes sense after a connection ended so. */
export function isFinal(code: number, reason: string): boolean {
  // 1001, 1005, 1006, 1011, 1012, 1013, 1015 and what others invent may pass.
  return code === POLICY ? !reason.startsWith("rate limit") : FINAL.includes(code);
}
