/** What a close code asks of the client. */
export type Verdict =
  | "retry" // after the usual delay
  | "slow" // after half of the longest delay at least
  | "token" // at once, with a fresh token
  | "stop"; // never

// 1000 closed by server or replaced, 1002 wire version, 1003 text frame, 1007 not
// UTF-8, 1009 too big, 1010 extension missing, 4000 paused, 4403 not allowed.
const FINAL = [1000, 1002, 1003, 1007, 1009, 1010, 4000, 4403];

/** What to do after a connection ended with this code and reason. */
export function judge(code: number, reason: string): Verdict {
  if (code === 4401) return "token";
  if (code === 1008) return reason.startsWith("rate limit") ? "slow" : "stop";
  // 1001, 1005, 1006, 1011, 1012, 1013, 1015 and what others invent may pass.
  return FINAL.includes(code) ? "stop" : "retry";
}

/** What to say when the peer gave no reason. */
export function describe(code: number, reason: string): string {
  return reason || (code === 1006 ? "connection lost or refused" : `closed with code ${code}`);
}
