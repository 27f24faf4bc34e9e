// Typed calls, a module of its own: who does not import it does not pay for it.
import { Answers, type CallHandler } from "./answer.js";
import type { Client, Core } from "./client.js";
import * as control from "./control/index.js";
import { encode } from "./encode.js";
import { NovaError, codeOf, reasonOf, type Code } from "./error.js";
import type { Handle } from "./handlers.js";
import { ANSWER_MS, CALLS, fromBase64, toBase64 } from "./callwire.js";
import { Writer, parseHeader, type CallDescriptor, type EventDescriptor, type Table } from "./wire/index.js";

export type { CallContext, CallHandler } from "./answer.js";

/** Options of one call. */
export interface CallOptions {
  /** How long to wait for the answer in ms, the wait for a connection included. Default 10,000. */
  deadlineMs?: number;
  /** Gives the call up; the other side is told. */
  signal?: AbortSignal | undefined;
  /** W3C traceparent that the other side gets. */
  trace?: string;
}

/**
 * Calls the server and waits for the response. The call waits for a connection
 * while there is none.
 * Rejects with NovaError: the code of the handler; invalid (the request does not
 * fit); unimplemented (nobody handles it there, or the server takes no calls);
 * exhausted (too much waits to be sent, or too many calls run); unavailable (it was
 * certainly not handled) or unknown_outcome (nobody can tell) when the connection is
 * lost; deadline_exceeded; cancelled (by the signal, or closed before it was sent).
 *
 * The first use on a connection that is up makes it anew, as what a client can do is
 * agreed at its begin; the session goes on. `enableCalls` before connect avoids that.
 */
export function call<Request, Response>(
  client: Client, descriptor: CallDescriptor<Request, Response>, request: NoInfer<Request>, options: CallOptions = {},
): Promise<Response> {
  return Calls.of(client).call(descriptor, request, options);
}

/**
 * Answers a call that the server makes. Handlers run beside each other, at most 16
 * at a time. The server gets code and message of a NovaError; of anything else that
 * is thrown it learns "internal error", and onError the rest.
 * @throws NovaError already_exists when the call has a handler
 */
export function onCall<Request, Response>(
  client: Client, descriptor: CallDescriptor<Request, Response>, handler: CallHandler<Request, Response>,
): Handle {
  return Calls.of(client).answers.add(descriptor, handler);
}

/**
 * The call of the base protocol: an event there and the same event back, with every
 * server. Rejects as `call` does; what the server's handler failed with is code
 * unknown and its text. The server is not told when it is given up.
 */
export function request<T>(client: Client, event: EventDescriptor<T>, value: NoInfer<T>, options: CallOptions = {}): Promise<T> {
  return Calls.of(client).request(event, value, options);
}

/** Readies a client for calls, both ways. */
export function enableCalls(client: Client): void {
  Calls.of(client);
}

interface Pending {
  /** Of a call: its frame, whose way the send queue knows. */
  frame?: Uint8Array;
  /** Of a base call: its event. */
  event?: number;
  /** And how to send it, while it waits for a connection. */
  send?: (() => void) | undefined;
  answered(payload: Uint8Array): void;
  fail(e: NovaError): void;
}

const all = new WeakMap<Client, Calls>();

/** The calls of one client. */
class Calls {
  readonly answers: Answers;
  readonly #client: Client;
  readonly #core: Core;
  readonly #writer = new Writer();
  readonly #pending = new Map<number, Pending>();
  #last = 0;
  #up: boolean;
  /** Our hello said that we take calls. */
  #said = false;
  /** The server takes none. */
  #refused = false;
  /** The status has just become connected. */
  #fresh = false;

  static of(client: Client): Calls {
    let calls = all.get(client);
    if (!calls) all.set(client, (calls = new Calls(client)));
    return calls;
  }

  private constructor(client: Client) {
    this.#client = client;
    const core = (this.#core = client.core);
    this.answers = new Answers(core);
    core.caps.push(() => ((this.#said = true), CALLS));
    core.greet.push((caps) => this.#hello(caps));
    core.on(control.novaReply, ({ id, code, message, payload }) => {
      if (code === 0) this.#pending.get(id)?.answered(payload);
      else this.#pending.get(id)?.fail(new NovaError(codeOf(code), message));
    });
    core.on(control.rpcResult, (m) => this.#result(m));
    client.onStatus(({ state }) => this.#status(state === "connected", state === "closed"));
    client.onRecovered((ok) => {
      if (!ok && !this.#fresh) this.#lost(); // another session on the same connection
    });
    this.#up = client.status.state === "connected";
    if (this.#up) this.#restart();
  }

  call<Q, R>(descriptor: CallDescriptor<Q, R>, request: Q, options: CallOptions): Promise<R> {
    const { name } = descriptor;
    return this.#begin(name, options, descriptor.response, (id, pending) => {
      if (this.#refused) throw noCalls();
      const frame = encode(this.#writer, control.novaCall, {
        id, name, deadlineMs: Math.ceil(options.deadlineMs ?? ANSWER_MS), trace: options.trace ?? "", payload: payloadOf(name, descriptor.request, request),
      });
      pending.frame = frame;
      this.#core.queue.push(frame).catch((e) => pending.fail(e));
    });
  }

  request<T>(event: EventDescriptor<T>, value: T, options: CallOptions): Promise<T> {
    return this.#begin(event.name, options, event.table, (id, pending) => {
      pending.event = event.id;
      const payloadB64 = toBase64(encode(this.#writer, event, value));
      pending.send = () => {
        pending.send = undefined;
        this.#core.send(control.rpcCall, { id: String(id), name: event.name, payloadB64 });
      };
      if (this.#up) pending.send();
    });
  }

  #begin<R>(name: string, { deadlineMs = ANSWER_MS, signal }: CallOptions, table: Table<R>, start: (id: number, pending: Pending) => void): Promise<R> {
    return new Promise<R>((done, fail) => {
      if (this.#client.status.state === "closed") throw new NovaError("failed_precondition", "the client is closed");
      if (!(deadlineMs > 0) || deadlineMs > 86_400_000) throw new NovaError("invalid", `call ${name}: deadlineMs ${deadlineMs} is not more than 0 and at most a day`);
      signal?.throwIfAborted();
      const id = ++this.#last;
      const timer = setTimeout(() => this.#abandon(id, "deadline_exceeded", `call ${name}: no answer in ${deadlineMs} ms`), deadlineMs);
      const abort = () => this.#abandon(id, "cancelled", `call ${name}: ${reasonOf(signal!.reason)}`);
      const settled = () => {
        this.#pending.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      const pending: Pending = {
        answered: (payload) => {
          settled();
          try {
            done(this.answers.decode(name, table, payload));
          } catch (cause) {
            fail(new NovaError("internal", `the answer to ${name} does not decode: ${reasonOf(cause)}`, { cause }));
          }
        },
        fail: (e) => {
          settled();
          fail(e);
        },
      };
      this.#pending.set(id, pending);
      signal?.addEventListener("abort", abort);
      try {
        start(id, pending);
      } catch (e) {
        pending.fail(e as NovaError);
      }
    }).catch((e) => {
      throw e instanceof NovaError ? e : new NovaError("cancelled", `call ${name}: ${reasonOf(e)}`, { cause: e });
    });
  }

  /** The caller waits no longer. */
  #abandon(id: number, code: Code, why: string): void {
    const pending = this.#pending.get(id)!;
    pending.fail(new NovaError(code, why));
    if (pending.frame && !this.#core.queue.withdraw(pending.frame, code, why) && this.#up) this.#core.send(control.novaCancel, { id });
  }

  /** The answer to a base call: a frame of the same event, or a text. */
  #result({ id, ok, err, payloadB64 }: control.RpcResult): void {
    const pending = this.#pending.get(Number(id));
    if (pending?.event === undefined) return;
    if (!ok) return pending.fail(new NovaError("unknown", err));
    try {
      const frame = fromBase64(payloadB64);
      const { id: event, start, end } = parseHeader(new DataView(frame.buffer));
      if (event !== pending.event) throw new Error("it is another event");
      pending.answered(frame.subarray(start, end));
    } catch (cause) {
      pending.fail(new NovaError("internal", `the answer does not decode: ${reasonOf(cause)}`, { cause }));
    }
  }

  #hello(caps: readonly string[]): void {
    this.#refused = !caps.includes(CALLS);
    if (this.#refused) {
      for (const { frame, fail } of this.#pending.values()) {
        if (frame && this.#core.queue.withdraw(frame, "unimplemented", "")) fail(noCalls());
      }
    } else if (!this.#said) queueMicrotask(() => this.#restart()); // it was said before there was this
  }

  #restart(): void {
    if (/idle|closed/.test(this.#client.status.state)) return; // ended meanwhile: the next connection says it
    this.#client.pause();
    this.#client.resume();
  }

  #status(up: boolean, closed: boolean): void {
    const was = this.#up;
    this.#up = up;
    if (up) {
      this.#fresh = true;
      queueMicrotask(() => (this.#fresh = false)); // what else is told of it is told by then
      for (const { send } of this.#pending.values()) send?.();
      return;
    }
    this.#said = this.#refused = false;
    if (was) this.answers.lost();
    // What the queue fails at the end is told first: it knows what was sent.
    if (closed) queueMicrotask(() => this.#lost(true));
    else if (was) this.#lost();
  }

  /** The connection is gone: calls that the server may have fail, and those it has not when they are withdrawn. */
  #lost(closed = false): void {
    for (const { frame, send, fail } of this.#pending.values()) {
      if (frame && this.#core.queue.withdraw(frame, "unavailable", "")) fail(new NovaError("unavailable", "the connection was lost before the call was sent"));
      else if (!send) fail(new NovaError("unknown_outcome", "the connection was lost before the answer"));
      else if (closed) fail(new NovaError("cancelled", "the client is closed"));
    }
  }
}

const noCalls = () => new NovaError("unimplemented", `the server takes no calls (capability ${CALLS})`);

function payloadOf<T>(name: string, table: Table<T>, value: T): Uint8Array {
  try {
    return new Writer().payload(table, value);
  } catch (cause) {
    throw new NovaError("invalid", `call ${name}: ${reasonOf(cause)}`, { cause });
  }
}
