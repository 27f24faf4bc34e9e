"use client";
// React hooks over one shared client.
export { NovaProvider, useClient } from "./provider.js";
export type { NovaProviderProps } from "./provider.js";
export { useConnection } from "./connection.js";
export { useEvent } from "./event.js";
export { useTopic } from "./topic.js";
