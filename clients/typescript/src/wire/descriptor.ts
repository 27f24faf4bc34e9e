import { eventId } from "./envelope.js";
import type { Table } from "./table.js";

/** What a server may do with an event when a consumer is slow. */
export type Delivery = "default" | "must" | "drop" | "latest";

/** What topic history keeps of an event. */
export type Retain = "all" | "none" | "latest";

/** One event of a schema: what `on` and `send` take. */
export interface EventDescriptor<T> {
  readonly name: string;
  /** FNV-1a-32 of the name. */
  readonly id: number;
  readonly table: Table<T>;
  readonly delivery: Delivery;
  /** JSON name of the key field of `latest`; undefined = none. */
  readonly key: string | undefined;
  /** Clients may send it. */
  readonly inbound: boolean;
  readonly retain: Retain;
  /** Routed to its own handler only. */
  readonly internal: boolean;
}

/** One typed request and response. */
export interface CallDescriptor<Request, Response> {
  readonly name: string;
  readonly request: Table<Request>;
  readonly response: Table<Response>;
}

/** A whole schema: events and calls by name. */
export interface Schema {
  readonly name: string;
  /** 16 hex digits; equal schemas have equal fingerprints. */
  readonly fingerprint: string;
  // any: a list of descriptors of different types; variance forbids unknown.
  readonly events: readonly EventDescriptor<any>[];
  readonly calls: readonly CallDescriptor<any, any>[];
}

/** What the generator says about an event; all but name and table have defaults. */
export interface EventSpec<T> {
  name: string;
  id?: number;
  table: Table<T>;
  delivery?: Delivery;
  key?: string;
  inbound?: boolean;
  retain?: Retain;
  internal?: boolean;
}

/** Makes an event descriptor. */
export function defineEvent<T>(spec: EventSpec<T>): EventDescriptor<T> {
  return { id: eventId(spec.name), delivery: "default", key: undefined, inbound: false, retain: "all", internal: false, ...spec };
}

/** Makes a call descriptor. */
export function defineCall<Request, Response>(
  spec: CallDescriptor<Request, Response>,
): CallDescriptor<Request, Response> {
  return spec;
}
