// A server in memory, so that components are tested without sockets.
export { TestServer } from "./server.js";
export type { From, PublishTarget, TestClientInfo, TestServerOptions } from "./server.js";
