// What batch/1 is worth in Chromium: a page that draws each frame and takes quotes
// at 20,000 a second, with several frames in a message and with one in each, in turns.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { Program, RealServer } from "../../clients/typescript/test/realserver.ts";
import { launch } from "../lib/browser.ts";
import { open } from "../lib/page.ts";

const SECONDS = 5;
const ROUNDS = 3;

let program: Program;
let browser: Browser;

beforeAll(async () => {
  program = Program.build();
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  program?.remove();
});

async function measure(rate: number, joined: boolean) {
  const server = await RealServer.start(program, "-frames", "20000");
  // A client that does not name the capability gets one frame a message.
  const page = await open(browser, await server.url, "rate", { instead: joined ? [] : [["batch/1", "batch/0"]] });
  await page.waitForFunction(() => window.counts.frames > 20);
  await server.stream("rate", 1000, 1);
  const before = await page.evaluate(() => ({ ...window.counts, at: performance.now() }));
  const sent = await server.stream("rate", rate, SECONDS);
  const after = await page.evaluate(() => ({ ...window.counts, at: performance.now() }));
  await page.context().close();
  await server.stop();
  const seconds = (after.at - before.at) / 1000;
  const each = (name: "quotes" | "frames" | "messages") => (after[name] - before[name]) / seconds;
  return { frames: each("frames"), quotes: each("quotes"), messages: each("messages"), sent: sent / SECONDS };
}

test("frames a second of a page at 20,000 quotes a second", async () => {
  const rows: Record<string, string | number>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const rate of [5_000, 20_000]) {
      for (const joined of [true, false]) {
        const m = await measure(rate, joined);
        rows.push({
          rate, "batch/1": joined ? "on" : "off", "page frames/s": Math.round(m.frames), "quotes/s handled": Math.round(m.quotes),
          "quotes/s sent": Math.round(m.sent), "messages/s": Math.round(m.messages),
        });
      }
    }
  }
  console.table(rows);
});
