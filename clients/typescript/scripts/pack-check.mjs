// Installs the packed tarball in an empty project and uses every export there:
// type-check under NodeNext and bundler resolution, run in Node, bundle with
// esbuild and with vite. What is not imported must not be in the bundle.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { build as vite } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "nova-pack-"));
const run = (cmd, args, cwd = dir) => execFileSync(cmd, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

const bundle = async (entry) => {
  const { outputFiles } = await build({ absWorkingDir: dir, entryPoints: [entry], bundle: true, format: "esm", platform: "node", write: false, logLevel: "error" });
  return outputFiles[0].text;
};

try {
  run("node", ["scripts/build.mjs"], root);
  const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", dir], root));
  const stray = files.map((f) => f.path).filter((p) => !/^(dist\/|package\.json$|README|LICENSE)/.test(p) || /\.test\./.test(p));
  if (stray.length > 0) throw new Error(`the package holds files it should not: ${stray.join(", ")}`);
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  run("npm", ["install", "--no-audit", "--no-fund", "--offline", `./${filename}`]);
  writeFileSync(join(dir, "use.ts"), `
import { createClient, NovaError, type EventDescriptor } from "@ignex/nova-client";
import { renewToken } from "@ignex/nova-client/auth";
import { batching } from "@ignex/nova-client/batch";
import { defineEvent, defineTable, eventId, Writer, Reader } from "@ignex/nova-client/wire";
interface Note { text: string }
export const note: EventDescriptor<Note> = defineEvent<Note>({ name: "note", id: eventId("note"), table: defineTable<Note>({
  name: "Note", align: 4, inline: 8, offsets: [4], absent: false,
  encode(w, t, v) { w.string(t + 4, v.text, "text"); },
  decode: (r) => ({ text: r.string(0, "text") }),
}) });
class Silent { binaryType = ""; readyState = 0; bufferedAmount = 0; onopen: any; onmessage: any; onclose: any; onerror: any; send() {} close() {} }
const client = createClient("ws://localhost:1/ws", { webSocket: batching(Silent), token: async () => "t" });
renewToken(client);
client.on(note, (v) => v.text.length).off();
const bytes = new Writer().payload(note.table, { text: "hé" });
const back = new Reader().payload(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, bytes.length, note.table);
if (back.text !== "hé" || client.status.state !== "idle" || !(new NovaError("invalid", "x") instanceof Error)) throw new Error("wrong");
`);
  writeFileSync(join(dir, "hooks.ts"), `
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { NovaProvider, useClient, useConnection, useEvent, useTopic } from "@ignex/nova-client/react";
import { TestServer } from "@ignex/nova-client/testing";
import { note } from "./use.js";
import about from "@ignex/nova-client/package.json" with { type: "json" };
function Page() {
  const text: string = useEvent(note)?.text ?? useTopic("t", note)?.text ?? "none";
  useTopic("t", note, (v, meta) => void (v.text.length + meta.seq), { from: "live" });
  return createElement("p", null, useClient().status.state, useConnection().state, text);
}
const html = renderToString(createElement(NovaProvider, { url: "/ws" }, createElement(Page)));
const server = new TestServer();
const client = server.connect();
const got: string[] = [];
client.on(note, (v) => got.push(v.text));
await server.connected();
server.publish(note, { text: "hi" });
await client.send(note, { text: "back" });
client.close();
if (got[0] !== "hi" || server.received(note)[0]?.text !== "back" || !html.includes("none") || about.name !== "@ignex/nova-client") throw new Error("wrong");
`);
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const modules = Object.keys(exports).filter((name) => name !== "./package.json").map((name) => name.replace(".", "@ignex/nova-client"));
  writeFileSync(join(dir, "all.ts"), modules.map((name, i) => `import * as m${i} from "${name}";\n`).join("")
    + `if ([${modules.map((_, i) => `m${i}`)}].some((m) => Object.keys(m).length === 0)) throw new Error("an export is empty");\n`);
  // What applications bring along: React and its types, from the development dependencies.
  for (const name of ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom", "csstype"]) {
    mkdirSync(join(dir, "node_modules", name, ".."), { recursive: true });
    cpSync(join(root, "node_modules", name), join(dir, "node_modules", name), { recursive: true });
  }
  const tsc = join(root, "node_modules/.bin/tsc");
  const check = (module, resolution, ...more) =>
    run(tsc, ["--strict", "--target", "ES2022", "--lib", "ES2022,DOM", "--types", "", "--resolveJsonModule", "--module", module, "--moduleResolution", resolution, ...more, "use.ts", "hooks.ts", "all.ts"]);
  check("ESNext", "Bundler", "--noEmit");
  check("NodeNext", "NodeNext");
  run("node", ["--no-warnings", "hooks.js"]);
  run("node", ["all.js"]);
  const core = await bundle("use.js");
  const all = await bundle("hooks.js");
  for (const [name, mark] of [["react", "NovaProvider needs"], ["testing", "test.invalid"]]) {
    if (core.includes(mark) || !all.includes(mark)) throw new Error(`the bundle of the core should not hold ./${name}, that of the hooks should`);
  }
  await vite({ root: dir, logLevel: "error", build: { lib: { entry: "use.ts", formats: ["es"], fileName: "use" }, outDir: "vite" } });
  const built = readdirSync(join(dir, "vite")).map((f) => readFileSync(join(dir, "vite", f), "utf8")).join("");
  if (!built.includes("nova.attach") || built.includes("test.invalid")) throw new Error("the bundle of vite is not the core");
  console.log(`${filename}: ${files.length} files; type-checks, runs and bundles`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
