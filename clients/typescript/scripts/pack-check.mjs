// Installs the packed tarball in an empty project and uses it there: type-check
// under NodeNext and bundler resolution, run in Node, bundle with esbuild.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "nova-pack-"));
const run = (cmd, args, cwd = dir) => execFileSync(cmd, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

try {
  run("node", ["scripts/build.mjs"], root);
  const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", dir], root));
  const stray = files.map((f) => f.path).filter((p) => !/^(dist\/|package\.json$|README|LICENSE)/.test(p) || /\.test\./.test(p));
  if (stray.length > 0) throw new Error(`the package holds files it should not: ${stray.join(", ")}`);
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  run("npm", ["install", "--no-audit", "--no-fund", "--offline", `./${filename}`]);
  writeFileSync(join(dir, "use.ts"), `
import { createClient, NovaError, type EventDescriptor } from "@ignex/nova-client";
import { defineEvent, defineTable, eventId, Writer, Reader } from "@ignex/nova-client/wire";
interface Note { text: string }
const note: EventDescriptor<Note> = defineEvent<Note>({ name: "note", id: eventId("note"), table: defineTable<Note>({
  name: "Note", align: 4, inline: 8, offsets: [4], absent: false,
  encode(w, t, v) { w.string(t + 4, v.text, "text"); },
  decode: (r) => ({ text: r.string(0, "text") }),
}) });
class Silent { binaryType = ""; readyState = 0; bufferedAmount = 0; onopen: any; onmessage: any; onclose: any; onerror: any; send() {} close() {} }
const client = createClient("ws://localhost:1/ws", { webSocket: Silent });
client.on(note, (v) => v.text.length).off();
const bytes = new Writer().payload(note.table, { text: "hé" });
const back = new Reader().payload(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, bytes.length, note.table);
if (back.text !== "hé" || client.status.state !== "idle" || !(new NovaError("invalid", "x") instanceof Error)) throw new Error("wrong");
`);
  const tsc = join(root, "node_modules/.bin/tsc");
  for (const [module, resolution] of [["NodeNext", "NodeNext"], ["ESNext", "Bundler"]]) {
    run(tsc, ["--strict", "--noEmit", "--target", "ES2022", "--lib", "ES2022,DOM", "--types", "", "--module", module, "--moduleResolution", resolution, "use.ts"]);
  }
  run(tsc, ["--strict", "--target", "ES2022", "--lib", "ES2022,DOM", "--types", "", "--module", "NodeNext", "--moduleResolution", "NodeNext", "use.ts"]);
  run("node", ["use.js"]);
  await build({ absWorkingDir: dir, entryPoints: ["use.ts"], bundle: true, format: "esm", write: false, logLevel: "error" });
  console.log(`${filename}: ${files.length} files; type-checks, runs and bundles`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
