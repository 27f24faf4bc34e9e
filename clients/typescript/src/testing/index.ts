// A server in memory, so that components are tested without sockets.
export { TestServer } from "./server.js";
export type { CallFrom } from "./calls.js";
export type { Authenticate, Refusal } from "./door.js";
export type { From, PublishTarget, TestClientInfo, TestServerOptions } from "./server.js";
