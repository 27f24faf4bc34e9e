/** Where a client stands. */
export type State = "idle" | "connecting" | "connected" | "reconnecting" | "closed";

/** Where a client stands, and why. */
export interface Status {
  readonly state: State;
  /** Why the last connection ended; undefined when there is nothing to tell. */
  readonly reason?: string | undefined;
  /** WebSocket close code of the last connection. */
  readonly code?: number | undefined;
  /** reconnecting: number of this attempt, from 1. */
  readonly attempt?: number | undefined;
  /** reconnecting: milliseconds until the attempt starts. */
  readonly retryInMs?: number | undefined;
}
