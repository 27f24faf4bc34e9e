import * as control from "../control/index.js";
import { NovaError, codeOf, numberOf, reasonOf } from "../error.js";
import { ANSWER_MS } from "../callwire.js";
import { Reader, Writer } from "../wire/index.js";
import type { CallDescriptor, Table } from "../wire/index.js";
import type { Session } from "./session.js";

/** What a handler of a test server is told beside the request. */
export interface CallFrom {
  readonly clientId: string;
  /**
   * Aborted at the caller's deadline, when it gives up, and when its connection is
   * lost; its reason is a NovaError, which a handler that follows it may throw.
   */
  readonly signal: AbortSignal;
  /** The caller's W3C traceparent; "" = none. */
  readonly trace: string;
}

interface Answer {
  readonly call: CallDescriptor<any, any>;
  readonly handler: (request: any, from: CallFrom) => unknown;
}

interface Waiting {
  answered(payload: Uint8Array): void;
  fail(e: NovaError): void;
}

/** The calls of a test server, both ways. */
export class Calls {
  readonly #answers = new Map<string, Answer>();
  readonly #running = new Map<Session, Map<number, AbortController>>();
  readonly #waiting = new Map<Session, Map<number, Waiting>>();
  #last = 0;

  /** Answers a call, one handler for each. */
  on(call: CallDescriptor<any, any>, handler: (request: any, from: CallFrom) => unknown): void {
    this.#answers.set(call.name, { call, handler });
  }

  /** A client calls. */
  async serve(s: Session, { id, name, deadlineMs, trace, payload }: control.Call): Promise<void> {
    const over = s.send;
    const reply = (code: number, message: string, payload = new Uint8Array()) => {
      if (s.send === over) s.say(control.novaReply, { id, code, message, payload });
    };
    const answer = this.#answers.get(name);
    if (!answer) return reply(numberOf("unimplemented"), `no handler for ${name}`);
    const controller = new AbortController();
    const running = of(this.#running, s);
    running.set(id, controller);
    const timer = setTimeout(() => controller.abort(new NovaError("deadline_exceeded", "the time for the call is over")), deadlineMs || ANSWER_MS);
    try {
      const { call, handler } = answer;
      const request = decode(name, "request", call.request, payload, "invalid");
      const response = await handler(request, { clientId: s.clientId, signal: controller.signal, trace });
      reply(0, "", new Writer().payload(call.response, response).slice());
    } catch (cause) {
      const told = cause instanceof NovaError && numberOf(cause.code) > 0;
      reply(numberOf(told ? cause.code : "internal"), told ? cause.message : "internal error");
    } finally {
      clearTimeout(timer);
      if (running.get(id) === controller) running.delete(id);
    }
  }

  /** A client waits no longer. */
  cancel(s: Session, id: number): void {
    of(this.#running, s).get(id)?.abort(new NovaError("cancelled", "the caller gave up"));
  }

  /** Calls a client. */
  make<Q, R>(s: Session | undefined, call: CallDescriptor<Q, R>, request: Q, deadlineMs = ANSWER_MS): Promise<R> {
    const { name } = call;
    return new Promise<R>((done, fail) => {
      if (!s?.send) throw new NovaError("unavailable", `call ${name}: the client is not connected`);
      const payload = new Writer().payload(call.request, request).slice();
      const id = ++this.#last;
      const waiting = of(this.#waiting, s);
      const timer = setTimeout(() => {
        s.say(control.novaCancel, { id });
        waiting.get(id)!.fail(new NovaError("deadline_exceeded", `call ${name}: no answer in ${deadlineMs} ms`));
      }, deadlineMs);
      const settled = () => {
        clearTimeout(timer);
        waiting.delete(id);
      };
      waiting.set(id, {
        answered: (payload) => {
          settled();
          try {
            done(decode(name, "response", call.response, payload, "internal"));
          } catch (e) {
            fail(e);
          }
        },
        fail: (e) => {
          settled();
          fail(e);
        },
      });
      s.say(control.novaCall, { id, name, deadlineMs, trace: "", payload });
    });
  }

  /** A client answers. */
  answered(s: Session, { id, code, message, payload }: control.Reply): void {
    const waiting = of(this.#waiting, s).get(id);
    if (code === 0) waiting?.answered(payload);
    else waiting?.fail(new NovaError(codeOf(code), message));
  }

  /** The connection of a session is gone: nothing of its calls gets an answer. */
  lost(s: Session): void {
    for (const controller of of(this.#running, s).values()) controller.abort(new NovaError("cancelled", "the connection was lost"));
    this.#running.delete(s);
    for (const { fail } of of(this.#waiting, s).values()) fail(new NovaError("unknown_outcome", "the connection was lost before the answer"));
    this.#waiting.delete(s);
  }
}

function of<T>(all: Map<Session, Map<number, T>>, s: Session): Map<number, T> {
  let own = all.get(s);
  if (!own) all.set(s, (own = new Map()));
  return own;
}

function decode<T>(name: string, what: string, table: Table<T>, { buffer, byteOffset, length }: Uint8Array, code: "invalid" | "internal"): T {
  try {
    return new Reader().payload(new DataView(buffer, byteOffset, length), 0, length, table);
  } catch (cause) {
    throw new NovaError(code, `the ${what} of call ${name} does not decode: ${reasonOf(cause)}`, { cause });
  }
}
