// Tokens from a real browser: as a subprotocol, by frame, renewed, refused.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { launch, open, type Watched } from "../lib/browser.ts";
import { root } from "../lib/paths.ts";
import { People } from "../lib/people.ts";

let people: People;
let browser: Browser;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  [people, browser] = await Promise.all([People.start(join(root, "e2e/page/people.ts")), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await people?.stop();
});
beforeEach(async () => {
  watched = await open(browser, people.url);
  page = watched.page;
});
afterEach(() => watched.close());

const say = (user: string, ttl = 0) => JSON.stringify({ user, ttl, secret: "k9-ü€😀" });
const enter = (tokens: string[], inBand = false) => page.evaluate(([t, b]) => window.enter(t as string[], b as boolean), [tokens, inBand] as const);
const until = (what: string) => page.waitForFunction((w) => window.attempt.states.some((s) => s.startsWith(w)), what);
const attempt = () => page.evaluate(() => window.attempt);

test("a token as a subprotocol lets in, nova.v2 is echoed, and nothing is logged", async () => {
  const headers: string[] = [];
  const cdp = await watched.page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  cdp.on("Network.webSocketHandshakeResponseReceived", (e) => headers.push(JSON.stringify(e.response.headers)));
  await enter([say("ann")]);
  await until("connected");
  expect(await attempt()).toEqual({ states: ["connecting", "connected"], errors: [], asked: 1 });
  expect(headers.join()).toContain('"nova.v2"');
  expect(headers.join()).not.toContain("nova.token");
  const token = JSON.stringify({ user: "bob", ttl: 0, secret: "k9" });
  expect(await page.evaluate((t) => window.bare(t), token)).toEqual({ protocol: "nova.v2", code: 1000, reason: "" });
  for (const secret of ["k9", Buffer.from(token).toString("base64url")]) expect(people.log()).not.toContain(secret);
});

test("a token that is no good: the page learns why", async () => {
  expect(await page.evaluate(() => window.bare("rubbish"))).toEqual({ protocol: "nova.v2", code: 4401, reason: "not a token of ours" });
  await enter(["rubbish"]);
  await until("closed");
  expect(await attempt()).toEqual({ states: ["connecting", "reconnecting 4401", "closed 4401"], errors: [], asked: 2 });
  expect(people.log()).toContain("not a token of ours");
});

test.each([false, true])("an expired token, then a fresh one (in band: %s)", async (inBand) => {
  await enter([say("ann", -1), say("ann")], inBand);
  await until("connected");
  expect(await attempt()).toEqual({ states: ["connecting", "reconnecting 4401", "connected"], errors: [], asked: 2 });
});

test("a token is renewed by frame", async () => {
  await enter([say("ann", 1_300)]);
  await page.waitForFunction(() => window.attempt.asked >= 3);
  expect((await attempt()).states).toEqual(["connecting", "connected"]);
});
