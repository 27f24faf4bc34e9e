/** What a close code asks of the client. */
export type Verdict =
  | "retry" // after the usual delay
  | "slow" // after the longest delay
  | "token" // at once, with a fresh token
  | "stop"; // never

/** What to do after a connection ended with this code and reason. */
export function judge(code: number, reason: string): Verdict {
  switch (code) {
    case 1000: // closed by server, replaced by newer session
    case 1002: // wire version mismatch, too many undecodable frames
    case 1003: // text frame
    case 1007: // not UTF-8
    case 1009: // message too big
    case 1010: // extension missing
    case 4000: // paused
    case 4403: // not allowed
      return "stop";
    case 1008:
      return /rate/i.test(reason) ? "slow" : "stop";
    case 4401:
      return "token";
    default: // 1001, 1005, 1006, 1011, 1012, 1013, 1015 and what others invent
      return "retry";
  }
}

/** What to say when the peer gave no reason. */
export function describe(code: number, reason: string): string {
  return reason || (code === 1006 ? "connection lost or refused" : `closed with code ${code}`);
}
