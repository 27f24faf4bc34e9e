import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./paths.ts";

/** A server that knows its clients by their tokens, and a page that connects to it from another origin. */
export class People {
  private constructor(
    private readonly dir: string, private readonly page: Server, private readonly process: ChildProcess,
    readonly url: string, readonly address: string, readonly log: () => string,
  ) {}

  /** @param script the module that the page runs; it finds the server's address in its query */
  static async start(script: string): Promise<People> {
    const dir = mkdtempSync(join(tmpdir(), "nova-people-"));
    const path = join(dir, "realserver");
    execFileSync("go", ["build", "-o", path, "./clients/typescript/test/realserver"], { cwd: root, stdio: "inherit" });
    const bundle = await build({
      entryPoints: [script], bundle: true, format: "esm", write: false,
      alias: { "@ignex/nova-client/auth": join(root, "clients/typescript/src/auth.ts"), "@ignex/nova-client": join(root, "clients/typescript/src/index.ts") },
    });
    const html = `<!doctype html><link rel="icon" href="data:,"><script type="module">${bundle.outputFiles[0]!.text}</script>`;
    const page = createServer((_, response) => response.setHeader("content-type", "text/html").end(html)).listen(0, "127.0.0.1");
    await once(page, "listening");
    const origin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const process = spawn(path, ["-auth", "-log", "-origin", origin], { stdio: ["pipe", "pipe", "pipe"] });
    let log = "";
    process.stderr!.on("data", (data: Buffer) => (log += data.toString()));
    const [line] = (await once(process.stdout!, "data")) as [Buffer];
    const address = line.toString().trim();
    return new People(dir, page, process, `${origin}/?server=${encodeURIComponent(address)}`, address, () => log);
  }

  async stop(): Promise<void> {
    const gone = once(this.process, "exit");
    this.process.stdin!.end();
    const [code] = await gone;
    this.page.close();
    rmSync(this.dir, { recursive: true, force: true });
    if (code !== 0) throw new Error(`the server ended with ${code}:\n${this.log()}`);
  }
}
