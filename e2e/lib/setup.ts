// Builds the command once for all tests.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { root } from "./paths.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the built command. */
    nova: string;
  }
}

export default function setup(project: TestProject): () => void {
  const dir = mkdtempSync(join(tmpdir(), "nova-e2e-"));
  const nova = join(dir, "nova");
  execFileSync("go", ["build", "-o", nova, "./cmd/nova"], { cwd: root, stdio: "inherit" });
  project.provide("nova", nova);
  return () => rmSync(dir, { recursive: true, force: true });
}
