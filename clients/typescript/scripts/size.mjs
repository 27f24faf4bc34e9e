// Prints the size of the bundled core and fails above its bound.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const BOUND = 12_000;
const root = fileURLToPath(new URL("..", import.meta.url));
const { outputFiles } = await build({
  entryPoints: [`${root}/src/index.ts`], bundle: true, minify: true, format: "esm", target: "es2022", write: false,
});
const { contents } = outputFiles[0];
const size = gzipSync(contents, { level: 9 }).length;
console.log(`core: ${contents.length} bytes minified, ${size} bytes gzip (bound ${BOUND})`);
process.exitCode = size > BOUND ? 1 : 0;
