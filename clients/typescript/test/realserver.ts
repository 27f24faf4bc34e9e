// The real Go server in a process of its own.
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The server as a program, in a directory of its own. */
export class Program {
  private constructor(private readonly dir: string) {}

  /** Builds it; throws when that fails, with what the compiler said. */
  static build(): Program {
    const dir = mkdtempSync(join(tmpdir(), "nova-realserver-"));
    const program = new Program(dir);
    try {
      execFileSync("go", ["build", "-o", program.path, "./clients/typescript/test/realserver"], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
    } catch (cause) {
      program.remove();
      throw new Error("the Go server does not build; the scenarios need it", { cause });
    }
    return program;
  }

  get path(): string {
    return join(this.dir, "realserver");
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** The text of a chat that the server publishes. */
export function text(ts: number, size: number): string {
  let all = "";
  for (let n = ts; all.length < size; n += 7919) all += `${n},`;
  return all.slice(0, size);
}

/** A running server. */
export class RealServer {
  private readonly waiting: { done(line: string): void; fail(cause: Error): void }[] = [];
  readonly url: Promise<string>;

  constructor(private readonly process: ChildProcess) {
    createInterface({ input: process.stdout! }).on("line", (line) => this.waiting.shift()?.done(line));
    this.process.once("exit", (code) => this.waiting.splice(0).forEach(({ fail }) => fail(new Error(`the server ended with ${code}`))));
    this.url = this.line();
  }

  static async start(program: Program, ...args: string[]): Promise<RealServer> {
    const server = new RealServer(spawn(program.path, args, { stdio: ["pipe", "pipe", "inherit"] }));
    await server.url;
    return server;
  }

  /** Publishes quotes of 1,000 symbols and returns how many. */
  async stream(topic: string, rate: number, seconds: number): Promise<number> {
    const answer = await this.obey(`stream ${topic} ${rate} ${seconds}`);
    if (!/^\d+$/.test(answer)) throw new Error(answer);
    return Number(answer);
  }

  /** Publishes chats whose ts counts from first, with texts of size bytes, see text. */
  async publish(topic: string, first: number, count: number, size = 0): Promise<void> {
    const answer = await this.obey(`publish ${topic} ${first} ${count} ${size}`);
    if (answer !== "ok") throw new Error(answer);
  }

  /** Texts of the chats that clients sent, in the order they were handled. */
  async handled(): Promise<string[]> {
    return (await this.obey("handled")).split(",");
  }

  /** Calls getQuote of the client; the symbol of the answer, or the error. */
  call(symbol: string): Promise<string> {
    return this.obey(`call ${symbol}`);
  }

  /** The symbols of the calls that clients made, and how those that wait ended. */
  async called(): Promise<string[]> {
    return (await this.obey("called")).split(",");
  }

  async stop(): Promise<void> {
    const gone = once(this.process, "exit");
    this.process.stdin!.end();
    const [code] = await gone;
    if (code !== 0) throw new Error(`the server ended with ${code}`);
  }

  /** Has the server obey a command; returns its answer. */
  obey(command: string): Promise<string> {
    this.process.stdin!.write(command + "\n");
    return this.line();
  }

  private line(): Promise<string> {
    return new Promise((done, fail) => this.waiting.push({ done, fail }));
  }
}
