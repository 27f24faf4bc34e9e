// Our codec against npm flatbuffers (object API of flatc), same Node process,
// interleaved. Needs flatc in PATH. Prints ns per operation (median of rounds)
// and paired ratios; fails when a quote ratio is below 2.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const tmp = mkdtempSync(join(tmpdir(), "nova-bench-"));
try {
  execFileSync("flatc", ["--ts", "--gen-object-api", "-o", tmp, join(root, "test/fixtures/market.fbs")]);
  const lib = await load();
  const report = [...quotes(lib), ...portfolios(lib, 3), ...portfolios(lib, 200)];
  let slow = false;
  for (const r of report) {
    console.log(`${r.name.padEnd(22)} ours ${ns(r.ours)}  flatbuffers ${ns(r.theirs)}  ratio ${r.ratio.toFixed(2)}`);
    slow ||= r.name.startsWith("quote") && r.ratio < 2;
  }
  process.exitCode = slow ? 1 : 0;
} finally {
  rmSync(tmp, { recursive: true, force: true });
}

async function load() {
  await build({
    stdin: {
      contents: `
        export * as fb from "flatbuffers";
        export { Quote, QuoteT } from "${tmp}/market/quote";
        export { PortfolioSnapshot, PortfolioSnapshotT } from "${tmp}/market/portfolio-snapshot";
        export { PortfolioPositionT } from "${tmp}/market/portfolio-position";
        export * as market from "./test/fixtures/market";
        export * as wire from "./src/wire/index";`,
      resolveDir: root,
      loader: "ts",
    },
    bundle: true, format: "esm", platform: "node", target: "node20", outfile: join(tmp, "bench.mjs"),
    nodePaths: [join(root, "node_modules")],
    alias: { "@ignex/nova-client/wire": join(root, "src/wire/index.ts") },
  });
  return import(pathToFileURL(join(tmp, "bench.mjs")));
}

function quotes({ fb, Quote, QuoteT, market, wire }) {
  const ours = [], theirs = [];
  for (let i = 0; i < 256; i++) {
    const [symbol, bid, ask, bidSize, askSize, ts] = [`SYM${i}`, 100 + i / 7, 101 + i / 7, 100 * i, 300 + i, 1764470000000 + i];
    ours.push({ symbol, bid, ask, bidSize, askSize, ts });
    theirs.push(new QuoteT(symbol, bid, ask, BigInt(bidSize), BigInt(askSize), BigInt(ts)));
  }
  return pair("quote", { fb, wire, ours, theirs, table: market.quote.table, id: market.quote.id, Class: Quote, get: "getSizePrefixedRootAsQuote" });
}

function portfolios({ fb, PortfolioSnapshot, PortfolioSnapshotT, PortfolioPositionT, market, wire }, n) {
  const ours = [], theirs = [];
  for (let i = 0; i < 16; i++) {
    const rows = Array.from({ length: n }, (_, j) => [`SYM${i}-${j}`, 10 * j, 100 + j / 3, -j / 7]);
    ours.push({
      accountId: `acc${i}`, positions: rows.map(([symbol, quantity, avgPrice, pnl]) => ({ symbol, quantity, avgPrice, pnl })),
      totalValue: 1e6 + i, cash: i / 3, ts: 1764470000000 + i, updatedBy: i % 2 ? "desk" : undefined,
    });
    theirs.push(new PortfolioSnapshotT(`acc${i}`, rows.map(([s, q, a, p]) => new PortfolioPositionT(s, BigInt(q), a, p)),
      1e6 + i, i / 3, BigInt(1764470000000 + i), i % 2 ? "desk" : null));
  }
  return pair(`portfolio ${n}`, { fb, wire, ours, theirs, table: market.portfolio.table, id: market.portfolio.id, Class: PortfolioSnapshot, get: "getSizePrefixedRootAsPortfolioSnapshot" });
}

function pair(name, { fb, wire, ours, theirs, table, id, Class, get }) {
  const w = new wire.Writer();
  const r = new wire.Reader();
  const builder = new fb.Builder(1024);
  const encodeTheirs = (v) => {
    builder.clear();
    builder.finishSizePrefixed(v.pack(builder));
    return builder.asUint8Array(); // a view: they need not copy
  };
  // Each has its own ArrayBuffer, as a browser's WebSocket gives them.
  const frames = ours.map((v) => w.frame(id, table, v).slice().buffer);
  const payloads = theirs.map((v) => encodeTheirs(v).slice());
  return [
    measure(`${name} encode`, ours.length,
      (i) => w.frame(id, table, ours[i]).length,
      (i) => encodeTheirs(theirs[i]).length),
    measure(`${name} decode`, ours.length,
      (i) => {
        const view = new DataView(frames[i]);
        const h = wire.parseHeader(view);
        return r.payload(view, h.start, h.end, table).ts;
      },
      (i) => Number(Class[get](new fb.ByteBuffer(payloads[i])).unpack().ts)),
  ];
}

function measure(name, count, ours, theirs) {
  const run = (fn, n) => {
    let sum = 0;
    const from = process.hrtime.bigint();
    for (let i = 0; i < n; i++) sum += fn(i % count);
    const took = Number(process.hrtime.bigint() - from) / n;
    if (Number.isNaN(sum)) throw new Error("bad sum");
    return took;
  };
  let n = 2000;
  while (run(theirs, n) * n < 20e6) n *= 2;
  run(ours, 3 * n);
  run(theirs, 3 * n);
  const a = [], b = [], ratios = [];
  for (let round = 0; round < 15; round++) {
    a.push(run(ours, n));
    b.push(run(theirs, n));
    ratios.push(b[round] / a[round]);
  }
  return { name, ours: median(a), theirs: median(b), ratio: median(ratios) };
}

function median(v) {
  return [...v].sort((x, y) => x - y)[v.length >> 1];
}

function ns(v) {
  return `${v < 1e4 ? v.toFixed(0) : v.toExponential(2)} ns`.padStart(10);
}
