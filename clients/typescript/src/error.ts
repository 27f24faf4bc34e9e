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

// By number on the wire; 0 is what ended on purpose, "" are numbers without one.
const CODES = /* #__PURE__ */ (
  "cancelled cancelled unknown invalid deadline_exceeded not_found already_exists denied exhausted failed_precondition" +
  "   unimplemented internal unavailable  unauthenticated"
).split(" ") as readonly Code[];

/** Code of a number on the wire; "unknown" for numbers of a later protocol. */
export function codeOf(number: number): Code {
  return CODES[number] || "unknown";
}

/** Number of a code on the wire; 0 or less for those that never travel. */
export function numberOf(code: Code): number {
  return CODES.lastIndexOf(code);
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
  declare readonly event: string | undefined;
  declare readonly topic: string | undefined;

  constructor(readonly code: Code, message: string, context: ErrorContext = {}) {
    super(message, context); // takes its cause only
    Object.assign(this, context);
  }
}

/** The message of what was thrown, whatever it is. */
export function reasonOf(cause: unknown): string {
  return String((cause as Error | undefined)?.message ?? cause);
}

/** An error of the application's code, which must not disturb others. */
export function threw(what: string, cause: unknown, event?: string): NovaError {
  return new NovaError("internal", `a ${what} threw: ${String(cause)}`, { event, cause });
}
