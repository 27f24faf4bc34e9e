// Reads lines "EVENT HEX", decodes each payload with the generated TypeScript,
// encodes the value again and prints the bytes, or what went wrong.
import { createInterface } from "node:readline";
import { schema } from "generated";
import { Reader, Writer } from "@ignex/nova-client/wire";

const events = new Map(schema.events.map((e) => [e.name, e]));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, hex] = line.split(" ");
  const bytes = Uint8Array.from(Buffer.from(hex, "hex"));
  try {
    const { table } = events.get(name);
    const value = new Reader().payload(new DataView(bytes.buffer), 0, bytes.length, table);
    console.log(Buffer.from(new Writer().payload(table, value)).toString("hex"));
  } catch (error) {
    console.log(String(error));
  }
}
