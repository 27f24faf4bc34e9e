// Builds the pages into dist/, which is committed and embedded in the command.
// With --check it builds in memory and fails when dist/ holds anything else.
import { build } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");
const inter = "node_modules/@fontsource-variable/inter";

// Files that are copied as they are.
const copies = {
  "index.html": "src/index.html",
  "generic.html": "src/generic.html",
  "icon.svg": "src/icon.svg",
  "inter.woff2": `${inter}/files/inter-latin-wght-normal.woff2`,
  "inter.LICENSE.txt": `${inter}/LICENSE`,
};

const bundle = await build({
  absWorkingDir: root,
  entryPoints: {
    app: "src/market-page.ts",
    generic: "src/generic-page.ts",
    theme: "src/theme-early.ts",
    style: "src/style/app.css",
  },
  entryNames: "[name]",
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  external: ["./inter.woff2"],
  tsconfig: "tsconfig.json",
  write: false,
  logLevel: "warning",
});

/** @type {Map<string, Uint8Array>} */
const files = new Map();
for (const out of bundle.outputFiles) {
  const name = out.path.slice(dist.length + 1);
  files.set(name === "style.css" ? "app.css" : name, out.contents);
}
for (const [name, from] of Object.entries(copies)) files.set(name, await readFile(join(root, from)));

if (process.argv.includes("--check")) await check();
else await write();

async function write() {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  for (const [name, data] of files) await writeFile(join(dist, name), data);
  for (const [name, data] of [...files].sort()) console.log(`${String(data.length).padStart(8)}  dist/${name}`);
}

async function check() {
  const stale = [];
  const present = await readdir(dist).catch(() => []);
  for (const name of present) if (!files.has(name)) stale.push(`dist/${name} is not made by the build`);
  for (const [name, data] of files) {
    if (!present.includes(name)) stale.push(`dist/${name} is missing`);
    else if (!(await readFile(join(dist, name))).equals(data)) stale.push(`dist/${name} is stale`);
  }
  if (stale.length === 0) return;
  console.error(stale.join("\n") + "\nrun: npm run build");
  process.exitCode = 1;
}
