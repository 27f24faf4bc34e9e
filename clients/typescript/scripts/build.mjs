// Compiles src to dist: ESM and declarations, file by file.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}/dist`, { recursive: true, force: true });
execFileSync("npx", ["--no-install", "tsc", "-p", "tsconfig.json"], { cwd: root, stdio: "inherit" });
