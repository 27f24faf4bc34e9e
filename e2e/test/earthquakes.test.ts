import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { coloursOf, connected, launch, open } from "../lib/browser.ts";
import { Demo } from "../lib/demo.ts";
import { artifact, seismic } from "../lib/paths.ts";

interface Quake {
  id: string;
  mag: number;
  place: string;
  status: string;
}

const quakes = readFileSync(seismic("earthquakes.ndjson"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Quake);

let demo: Demo;
let browser: Browser;

beforeAll(async () => {
  const args = ["--schema", seismic("schema.json"), "--feed", seismic("earthquakes.ndjson"), "--event", "earthquake", "--speed", "0"];
  [demo, browser] = await Promise.all([Demo.start(args), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const received = (page: Page, n: string) =>
  page.waitForFunction((n) => document.querySelector("#records-note")!.textContent!.startsWith(`${n} received`), n);

test("the page is open while the whole file is published", async () => {
  const empty = await Demo.start(["--schema", seismic("schema.json")]);
  const { page, complaints, close } = await open(browser, empty.url);
  await connected(page);
  const target = { topic: "earthquake" };
  // The first one tells, when it arrives, that the server has read the subscription.
  await empty.publish([{ event: "earthquake", target, data: quakes[0] }]);
  await received(page, "1");
  const answers = await empty.publish(quakes.slice(1).map((data) => ({ event: "earthquake", target, data })));
  expect(answers.filter((a) => a.code !== undefined)).toEqual([]);
  await received(page, "1,707");
  const shown = await page.locator("#records tbody td:nth-child(3)").allInnerTexts();
  expect(shown).toEqual(quakes.slice(-100).reverse().map((q) => q.id));
  expect(complaints).toEqual([]);
  await close();
  await empty.stop();
});

test("the generic page shows a replayed file", async () => {
  const { page, complaints, foreign, close } = await open(browser, demo.url);
  await connected(page);
  await received(page, "1,707");
  expect(quakes).toHaveLength(1707);
  const header = await page.locator("#records thead th").allInnerTexts();
  expect(header.slice(0, 5)).toEqual(["#", "Received", "id", "mag", "place"]);
  expect(header.slice(-3)).toEqual(["location.longitude", "location.latitude", "location.depth"]);
  expect(await page.locator("#records tbody tr").count()).toBe(100);
  // Newest first: the last lines of the file, backwards.
  const newest = quakes.slice(-100).reverse();
  expect(await page.locator("#records tbody td:nth-child(3)").allInnerTexts()).toEqual(newest.map((q) => q.id));
  expect(await page.locator("#records tbody td:nth-child(4)").allInnerTexts()).toEqual(newest.map((q) => String(q.mag)));
  expect(await page.locator("#records tbody td:nth-child(5)").allInnerTexts()).toEqual(newest.map((q) => q.place.trim()));
  expect(await page.locator("#detail-fields dd").first().innerText()).toBe(newest[0]!.id);
  expect(await page.locator("#world-note").innerText()).toBe("radius: mag");
  expect(await coloursOf(page, "#world")).toBeGreaterThan(20);
  expect(complaints).toEqual([]);
  expect(foreign).toEqual([]);
  await close();
});

test("the filter finds words and compares fields", async () => {
  const { page, close } = await open(browser, demo.url);
  await received(page, "1,707");
  await page.getByLabel("Filter the table").fill("alaska mag>4 status=reviewed");
  const want = quakes.filter((q) => JSON.stringify(q).toLowerCase().includes("alaska") && q.mag > 4 && q.status === "reviewed");
  expect(want.length).toBeGreaterThan(0);
  expect(await page.locator("#records tbody td:nth-child(3)").allInnerTexts()).toEqual(want.reverse().map((q) => q.id));
  expect(await page.locator("#records-note").innerText()).toBe(`1,707 received · ${want.length} match`);
  await page.getByLabel("Filter the table").fill("no such place");
  expect(await page.locator("#records-empty").innerText()).toBe("Nothing received matches the filter.");
  await close();
});

test("a record is selected by keyboard and stays while others could come", async () => {
  const { page, close } = await open(browser, demo.url);
  await received(page, "1,707");
  await page.locator("#records tbody button").first().click();
  await page.keyboard.press("ArrowDown");
  const id = quakes.at(-2)!.id;
  await page.waitForFunction((want) => document.querySelector("#detail-fields dd")!.textContent === want, id);
  expect(await page.locator("#records tbody button").nth(1).getAttribute("aria-pressed")).toBe("true");
  await page.getByRole("button", { name: "Follow the newest" }).click();
  expect(await page.getByRole("button", { name: "Follow the newest" }).count()).toBe(0);
  await close();
});

describe.each([1440, 390])("at %d px", (width) => {
  test.each(["light", "dark"] as const)("%s", async (colorScheme) => {
    const { page, complaints, close } = await open(browser, demo.url, {
      viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme, deviceScaleFactor: width === 390 ? 2 : 1,
    });
    await received(page, "1,707");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(wide, "px too wide").toBeLessThanOrEqual(0);
    await page.screenshot({ path: artifact(`earthquakes-${width}-${colorScheme}.png`), fullPage: true });
    expect(complaints).toEqual([]);
    await close();
  });
});
