// Chromium as the judge of what the server compresses and of how it joins frames.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Program, RealServer, text } from "../../clients/typescript/test/realserver.ts";
import { launch } from "../lib/browser.ts";
import { open } from "../lib/page.ts";

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

/** Waits until both clients of the page have n chats. */
const both = (page: Page, n: number) => page.waitForFunction((n) => window.chats.length >= n && window.base.length >= n, n);

for (const level of [1, 6, 0]) {
  test(`level ${level}: long and short events arrive whole and in order, with topic positions and without`, async () => {
    const server = await RealServer.start(program, "-compress", String(level), "-frames", "2000");
    const page = await open(browser, await server.url, "chats");
    await server.publish("news", 1, 1); // retained: whoever subscribes later gets it too
    await both(page, 1);
    const want = [{ room: "news", text: "", ts: 1 }];
    // What follows a compressed message tells whether that ended well.
    const sizes = [600, 3, 5_000, 700, 40_000, 10, 512, 0, 20_000, 1_000];
    for (let ts = 2; ts < 302; ts++) {
      const size = sizes[ts % sizes.length]!;
      await server.publish("news", ts, 1, size);
      want.push({ room: "news", text: text(ts, size), ts });
    }
    await server.publish("news", 302, 500, 900); // many at once
    for (let ts = 302; ts < 802; ts++) want.push({ room: "news", text: text(ts, 900), ts });
    await both(page, want.length);
    const got = await page.evaluate(() => ({ chats: window.chats, base: window.base, problems: window.problems }));
    expect(got.problems).toEqual([]);
    expect(got.chats).toEqual(want);
    expect(got.base).toEqual(want);
    await page.waitForFunction(() => window.extensions.length === 2);
    for (const agreed of await page.evaluate(() => window.extensions)) {
      expect(agreed).toBe(level > 0 ? "permessage-deflate; server_no_context_takeover; client_no_context_takeover" : "");
    }
    const said = Array.from({ length: 50 }, (_, i) => text(i, [5, 400, 3_000][i % 3]!).replaceAll(",", "."));
    await page.evaluate((said) => Promise.all(said.map((text) => window.say(text))), said);
    expect(await server.handled()).toEqual(said);
    await page.context().close();
    await server.stop();
  });
}
