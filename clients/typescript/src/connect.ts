import { Client } from "./client.js";
import type { Options } from "./options.js";

/** Makes a client that does not connect yet. */
export function createClient(url: string | URL, options?: Options): Client {
  return new Client(url, options);
}

/** Makes a client and starts it. */
export function connect(url: string | URL, options?: Options): Client {
  const client = createClient(url, options);
  client.connect();
  return client;
}
