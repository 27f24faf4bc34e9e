// Tokens by frame, a module of its own: who does not import it does not pay for it.
import type { Client, Core } from "./client.js";
import * as control from "./control/index.js";
import { NovaError, codeOf } from "./error.js";

const AUTH = "auth/1";
/** The least time between two renewals in ms. */
const LEAST = 1_000;

/** Options of `renewToken`. */
export interface RenewOptions {
  /**
   * Sends the first token by frame too, once the socket is up, instead of as a
   * subprotocol, which proxies may log and limit. The server has to allow that
   * (LateAuth). Default false.
   */
  inBand?: boolean;
}

/**
 * Renews the token of a client before it expires, on the connection there is: the
 * token option is called again, and its token sent by frame. Call it before connect.
 * Without it, and on servers that do not say when tokens expire, such a connection
 * is closed at the end of its token's life, and the client comes back with a fresh
 * one; its session goes on.
 * @throws NovaError failed_precondition without a token option
 */
export function renewToken(client: Client, { inBand = false }: RenewOptions = {}): void {
  const { core } = client;
  if (!core.options.token) throw new NovaError("failed_precondition", "renewToken needs the option token");
  new Renewal(client, core.options.token, inBand);
}

class Renewal {
  readonly #core: Core;
  readonly #token: () => unknown;
  /** The token, or the connection, that timers and calls of the option are for. */
  #turn = {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** A call of the option is under way for this turn. */
  #asking: object | undefined;
  #id = 0;
  #up = false;

  constructor(client: Client, token: NonNullable<Core["options"]["token"]>, inBand: boolean) {
    this.#token = token;
    const core = (this.#core = client.core);
    core.caps.push(() => AUTH);
    core.on(control.novaAuthed, (m) => this.#authed(m));
    client.onStatus(({ state }) => {
      this.#up = state === "connected";
      if (!this.#up) this.#end();
    });
    if (!inBand) return;
    let first: string | undefined;
    core.options.token = async () => void (first = await token());
    core.greet.push((caps) => {
      if (!caps.includes(AUTH)) core.error(new NovaError("failed_precondition", "the server takes no tokens in band (capability auth/1)"));
      else if (first !== undefined) this.#send(first);
    });
  }

  #send(token: string): void {
    this.#core.send(control.novaAuth, { id: ++this.#id, token });
  }

  /** The server's word about a token: until when it is good, or that it is not. */
  #authed({ id, code, message, expiresInMs }: control.Authed): void {
    if (code) {
      // Before that the connection ends, and its status says why.
      if (this.#up) this.#core.error(new NovaError(codeOf(code), `renew the token: ${message}`));
      return;
    }
    if (id && id !== this.#id) return; // of an older token
    this.#end();
    if (expiresInMs > 0) this.#wait(expiresInMs, 0.75 + Math.random() * 0.15);
  }

  /** What still comes for the connection, or the token, has no effect. */
  #end(): void {
    this.#turn = {};
    clearTimeout(this.#timer);
  }

  /** Asks after a part of the time that is left, and again at half of the rest until a token was accepted. */
  #wait(left: number, part: number): void {
    const ms = Math.min(Math.max(left * part, LEAST), 2 ** 31 - 1); // no timer takes more
    this.#timer = setTimeout(() => {
      if (left - ms > LEAST) this.#wait(left - ms, 0.5);
      void this.#ask(this.#turn);
    }, ms);
  }

  async #ask(turn: object): Promise<void> {
    if (this.#asking === turn) return;
    this.#asking = turn;
    try {
      const token = await this.#token();
      if (turn === this.#turn && typeof token === "string") this.#send(token);
    } catch (cause) {
      if (turn === this.#turn) this.#core.error(new NovaError("unauthenticated", `the token option failed: ${String(cause)}`, { cause }));
    }
    if (this.#asking === turn) this.#asking = undefined;
  }
}
