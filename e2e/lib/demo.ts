import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { inject } from "vitest";

/** A running `nova demo`. */
export class Demo {
  private constructor(private readonly process: ChildProcess, readonly url: string, private readonly output: () => string) {}

  /** Starts it on a free port of this machine, or on the one given, and waits until it listens. */
  static async start(args: readonly string[] = [], port = 0): Promise<Demo> {
    const process = spawn(inject("nova"), ["demo", "--addr", `127.0.0.1:${port}`, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const url = await new Promise<string>((resolve, reject) => {
      const read = (data: Buffer) => {
        output += data.toString();
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
        if (found !== null) resolve(found[0]);
      };
      process.stdout.on("data", read);
      process.stderr.on("data", read);
      process.on("error", reject);
      process.on("exit", (code) => reject(new Error(`nova demo ended with ${code}:\n${output}`)));
    });
    return new Demo(process, url, () => output);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Ends it as Ctrl-C does and waits; it must end cleanly. */
  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const gone = once(this.process, "exit");
      this.process.kill("SIGINT");
      await gone;
    }
    if (this.process.exitCode !== 0) throw new Error(`nova demo ended with ${this.process.exitCode}:\n${this.output()}`);
  }

  /** Publishes events over the HTTP API, one request a line, and returns the answers. */
  async publish(requests: readonly object[]): Promise<{ members?: number; code?: string; message?: string }[]> {
    const answer = await fetch(`${this.url}/api/publish`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: requests.map((r) => JSON.stringify(r)).join("\n") + "\n",
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`publish: HTTP ${answer.status}: ${text}`);
    return text.trim().split("\n").map((line) => JSON.parse(line) as object);
  }
}
