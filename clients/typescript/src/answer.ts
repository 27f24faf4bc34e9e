import type { Core } from "./client.js";
import * as control from "./control/index.js";
import { NovaError, numberOf, reasonOf, threw, type Code } from "./error.js";
import type { Handle } from "./handlers.js";
import { ANSWER_MS } from "./callwire.js";
import { Reader, Writer, type CallDescriptor, type Table } from "./wire/index.js";

/** What a handler of a call is told beside the request. */
export interface CallContext {
  /**
   * Aborted at the caller's deadline, when it gives up, and when the connection is
   * lost; its reason is a NovaError, which a handler that follows it may throw.
   */
  readonly signal: AbortSignal;
  /** The caller's W3C traceparent; "" = none. */
  readonly trace: string;
}

/** Answers one call. */
export type CallHandler<Request, Response> = (request: Request, context: CallContext) => Response | Promise<Response>;

/** Calls of the server that run at a time. */
const MOST = 16;

interface Answer {
  descriptor: CallDescriptor<any, any>;
  handler: CallHandler<any, any>;
}

/** The calls that the server makes to one client. */
export class Answers {
  readonly #handlers = new Map<string, Answer>();
  readonly #running = new Map<number, AbortController>();
  readonly #told = new Set<string>();
  /** Handlers that have not ended, those of lost connections too. */
  #busy = 0;

  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
    core.on(control.novaCall, (m) => void this.#call(m));
    core.on(control.novaCancel, ({ id }) => this.#running.get(id)?.abort(new NovaError("cancelled", "the caller gave up")));
  }

  add<Q, R>(descriptor: CallDescriptor<Q, R>, handler: CallHandler<Q, R>): Handle {
    const { name } = descriptor;
    if (this.#handlers.has(name)) throw new NovaError("already_exists", `call ${name} has a handler; take that one away first`);
    const mine = { descriptor, handler };
    this.#handlers.set(name, mine);
    return {
      off: () => {
        if (this.#handlers.get(name) === mine) this.#handlers.delete(name);
      },
    };
  }

  /** The connection is gone: nobody takes the answers. */
  lost(): void {
    for (const controller of this.#running.values()) controller.abort(new NovaError("cancelled", "the connection was lost"));
    this.#running.clear();
  }

  async #call(m: control.Call): Promise<void> {
    const answer = this.#handlers.get(m.name);
    if (!answer) return this.#reply(m.id, "unimplemented", `no handler for ${m.name}`);
    if (m.deadlineMs < 0) return this.#reply(m.id, "deadline_exceeded", "the time for the call was over when it was sent");
    if (this.#busy >= MOST) return this.#reply(m.id, "exhausted", "too many calls run: wait for one to end");
    this.#busy++;
    const controller = new AbortController();
    this.#running.set(m.id, controller);
    const timer = setTimeout(() => controller.abort(new NovaError("deadline_exceeded", "the time for the call is over")), Math.min(m.deadlineMs || ANSWER_MS, 2 ** 31 - 1));
    let payload: Uint8Array | undefined;
    let error: unknown;
    try {
      payload = await this.#run(answer, m, controller.signal);
    } catch (cause) {
      error = cause;
    }
    clearTimeout(timer);
    this.#busy--;
    if (this.#running.get(m.id) !== controller) return; // the connection is gone
    this.#running.delete(m.id);
    if (payload && payload.length + 128 > this.#core.queue.largest) {
      [payload, error] = [undefined, `${payload.length} bytes are more than the ${this.#core.queue.largest} the server takes`];
    }
    if (payload) return this.#core.send(control.novaReply, { id: m.id, code: 0, message: "", payload });
    if (error instanceof NovaError && numberOf(error.code) > 0) return this.#reply(m.id, error.code, error.message);
    this.#core.error(threw(`handler of call ${m.name}`, error));
    this.#reply(m.id, "internal", "internal error");
  }

  async #run({ descriptor, handler }: Answer, m: control.Call, signal: AbortSignal): Promise<Uint8Array> {
    let request: unknown;
    try {
      request = this.decode(m.name, descriptor.request, m.payload);
    } catch (cause) {
      throw new NovaError("invalid", `the request of call ${m.name} does not decode: ${reasonOf(cause)}`);
    }
    const response = await handler(request, { signal, trace: m.trace });
    return new Writer().payload(descriptor.response, response);
  }

  #reply(id: number, code: Code, message: string): void {
    this.#core.send(control.novaReply, { id, code: numberOf(code), message, payload: new Uint8Array() });
  }

  /**
   * Reads a request or response, with the client's rule for large integers.
   * @throws DecodeError
   */
  decode<T>(name: string, table: Table<T>, { buffer, byteOffset, length }: Uint8Array): T {
    const rounded = (path: string) => {
      const where = `call ${name}: ${path.replace(/\[\d+\]/g, "[]")}`;
      if (this.#told.has(where)) return;
      this.#told.add(where);
      this.#core.error(new NovaError("invalid", `${where}: rounded, the integer is beyond 2^53; declare the field as bigint`));
    };
    const reader = new Reader(this.#core.options.int64 === "error" ? undefined : rounded);
    return reader.payload(new DataView(buffer, byteOffset, length), 0, length, table);
  }
}
