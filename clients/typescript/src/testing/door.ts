import * as control from "../control/index.js";
import { numberOf } from "../error.js";
import type { Connection } from "./connection.js";
import type { MemorySocket } from "./socket.js";

/** Why a test server lets somebody not in. */
export type Refusal = "unauthenticated" | "denied" | "unavailable";

/** Judges a token: why it is refused, or for how many ms it holds; undefined = for ever. */
export type Authenticate = (token: string | undefined) => Refusal | number | undefined;

const CLOSES = { unauthenticated: 4401, denied: 4403, unavailable: 1013 };
const PREFIX = "nova.token.";

/** Who may enter a test server: tokens of upgrades, and by frame. */
export class Door {
  readonly #authenticate: Authenticate | undefined;

  constructor(authenticate: Authenticate | undefined) {
    this.#authenticate = authenticate;
  }

  /** What the server says about it in its hello. */
  get caps(): string[] {
    return this.#authenticate ? ["auth/1"] : [];
  }

  /** The client has said hello; true when it may be welcomed. */
  enter(connection: Connection, caps: readonly string[]): boolean {
    if (!this.#authenticate) return true;
    const token = tokenOf(connection.socket);
    const inBand = caps.includes("auth/1");
    if (token === undefined && inBand) return false; // it comes by frame
    const verdict = this.#authenticate(token);
    if (typeof verdict === "string") return this.#refuse(connection, verdict);
    if (verdict !== undefined && inBand) connection.say(control.novaAuthed, { id: 0, code: 0, message: "", expiresInMs: verdict });
    return true;
  }

  /** A token by frame; true when the client may be welcomed. */
  token(connection: Connection, { id, token }: control.Auth): boolean {
    const verdict = this.#authenticate?.(token);
    if (typeof verdict !== "string") {
      connection.say(control.novaAuthed, { id, code: 0, message: "", expiresInMs: verdict ?? 0 });
      return true;
    }
    connection.say(control.novaAuthed, { id, code: numberOf(verdict), message: verdict, expiresInMs: 0 });
    // One that is merely no good leaves who is in as they are.
    if (!connection.session || verdict === "denied") this.#refuse(connection, verdict);
    return false;
  }

  #refuse(connection: Connection, why: Refusal): false {
    connection.refuse(CLOSES[why], why);
    return false;
  }
}

/** The token that came with an upgrade. */
function tokenOf({ protocols }: MemorySocket): string | undefined {
  const text = protocols?.find((p) => p.startsWith(PREFIX))?.slice(PREFIX.length);
  if (text === undefined) return undefined;
  const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
