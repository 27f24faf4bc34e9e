// The judge: classes that flatc generates from test/fixtures/market.fbs, over
// npm flatbuffers, bundled into a temporary directory.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

/** Generates and loads the classes; fails when flatc is missing. */
export async function loadFlatc(): Promise<any> {
  const dir = mkdtempSync(join(tmpdir(), "nova-flatc-"));
  try {
    execFileSync("flatc", ["--ts", "--gen-object-api", "-o", dir, join(here, "fixtures/market.fbs")]);
    const names = ["quote", "trade", "portfolio-snapshot", "portfolio-position", "customer", "mixed"];
    await build({
      stdin: {
        contents: `export * as fb from "flatbuffers";\n${names.map((n) => `export * from "${dir}/market/${n}";`).join("\n")}`,
        resolveDir: here,
        loader: "ts",
      },
      bundle: true, format: "esm", platform: "node", outfile: join(dir, "out.mjs"),
      nodePaths: [join(here, "../node_modules")],
    });
    return await import(/* @vite-ignore */ pathToFileURL(join(dir, "out.mjs")).href);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Reads a file by its path from the root of the repository. */
export function fromRoot(path: string): string {
  return readFileSync(join(here, "../../..", path), "utf8");
}
