import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, open } from "../lib/browser.ts";
import { Demo } from "../lib/demo.ts";

interface Quote {
  symbol: string;
  bid: number;
  ask: number;
  bidSize: number;
  askSize: number;
  ts: number;
}

let demo: Demo;
let browser: Browser;

beforeAll(async () => {
  [demo, browser] = await Promise.all([Demo.start(["--rate", "0"]), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

/** A small generator of numbers that a seed repeats (mulberry32). */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function makeQuotes(n: number, seed: number): Quote[] {
  const next = random(seed);
  const odd = [0, 1e-300, 1.7976931348623157e308, -0.1, 0.1 + 0.2, 5e-324];
  const letters = ["", "ü", "日本", "🙂", " ", "\"", "\\"];
  return Array.from({ length: n }, (_, i) => ({
    // Of one symbol a slow browser would rightly get the newest quote only.
    symbol: `S${i}${letters[i % letters.length]}`,
    bid: i < odd.length ? odd[i]! : next() * 1000,
    ask: next() * 10 ** Math.floor(next() * 20 - 10),
    bidSize: Math.floor((next() - 0.5) * Number.MAX_SAFE_INTEGER),
    askSize: i === 0 ? Number.MAX_SAFE_INTEGER : Math.floor(next() * 1e6),
    ts: 1.7e12 + i,
  }));
}

test("2,000 quotes arrive, in order, with equal values", async () => {
  const seed = Date.now() % 1e6;
  console.log(`seed ${seed}`);
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL("../page/recorder.ts", import.meta.url))],
    tsconfig: fileURLToPath(new URL("../tsconfig.json", import.meta.url)),
    bundle: true, format: "esm", target: "es2022", write: false,
  });
  const context = await browser.newContext();
  // The page comes from the server, with another script: sockets are taken from
  // the server's own origin only.
  await context.route(`${demo.url}/app.js`, (route) =>
    route.fulfill({ contentType: "text/javascript", body: bundle.outputFiles[0]!.text }),
  );
  const page = await context.newPage();
  await page.goto(demo.url);
  await page.waitForFunction(() => window.ready);

  const quotes = makeQuotes(2000, seed);
  const answers = await demo.publish(quotes.map((data) => ({ event: "quote", target: { topic: "equities" }, data })));
  expect(answers).toHaveLength(2000);
  expect(answers.filter((a) => a.code !== undefined)).toEqual([]);
  await page.waitForFunction(() => window.quotes.length >= 2000);

  expect(await page.evaluate(() => window.errors)).toEqual([]);
  const got = await page.evaluate(() => window.quotes);
  expect(got.map((q) => q.symbol)).toEqual(quotes.map((q) => q.symbol));
  expect(got).toEqual(quotes);
  await context.close();
});

test("the page shows what is published, and a bad line harms no other", async () => {
  const watched = await open(browser, demo.url);
  await watched.page.locator('#state[data-state="connected"]').waitFor();
  const quote = (symbol: string, bid: number) => ({ event: "quote", target: { topic: "equities" }, data: { symbol, bid, ask: bid + 0.5, bidSize: 1200, askSize: 3, ts: Date.now() } });
  const answers = await demo.publish([quote("AAA", 20), { ...quote("BBB", 30), data: { symbol: "BBB" } }, quote("CCC", 1234.5)]);
  expect(answers.map((a) => a.code)).toEqual([undefined, "invalid", undefined]);
  const row = watched.page.locator('#quotes tr[data-symbol="CCC"]');
  await row.waitFor();
  expect(await row.locator("td").allInnerTexts()).toEqual(["1,200", "1,234.50", "1,235.00", "3", "1,234.75", "0.00%"]);
  expect(await watched.page.locator('#quotes tr[data-symbol="BBB"]').count()).toBe(0);
  expect(watched.complaints).toEqual([]);
  await watched.close();
});
