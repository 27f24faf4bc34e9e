/** What went wrong, for programs. The same set as on the wire. */
export type Code =
  | "cancelled"
  | "unknown"
  | "invalid"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "denied"
  | "exhausted"
  | "failed_precondition"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated"
  | "unknown_outcome";

// By number on the wire.
const CODES: readonly (Code | undefined)[] = [
  undefined, "cancelled", "unknown", "invalid", "deadline_exceeded", "not_found", "already_exists", "denied", "exhausted",
  "failed_precondition", undefined, undefined, "unimplemented", "internal", "unavailable", undefined, "unauthenticated",
];

/** Code of a number on the wire; "unknown" for numbers of a later protocol. */
export function codeOf(number: number): Code {
  return CODES[number] ?? "unknown";
}

/** What an error is about. */
export interface ErrorContext {
  /** Event name, when one is concerned. */
  event?: string | undefined;
  /** Topic, when one is concerned. */
  topic?: string | undefined;
  /** What was thrown, when something was. */
  cause?: unknown;
}

/** The one error type of the client. */
export class NovaError extends Error {
  override readonly name = "NovaError";
  readonly event: string | undefined;
  readonly topic: string | undefined;

  constructor(readonly code: Code, message: string, context: ErrorContext = {}) {
    super(message, "cause" in context ? { cause: context.cause } : undefined);
    this.event = context.event;
    this.topic = context.topic;
  }
}
