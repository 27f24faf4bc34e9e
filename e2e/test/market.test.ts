import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { coloursOf, connected, launch, open } from "../lib/browser.ts";
import { Demo } from "../lib/demo.ts";
import { artifact } from "../lib/paths.ts";

let demo: Demo;
let browser: Browser;

beforeAll(async () => {
  [demo, browser] = await Promise.all([Demo.start(["--rate", "200"]), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const number = (text: string) => Number(text.replace(/[^\d.]/g, ""));

test("live prices, trades, portfolio, rate and latency", async () => {
  const { page, complaints, foreign, close } = await open(browser, demo.url);
  await connected(page);
  await page.locator("#quotes tbody tr").nth(9).waitFor();
  await page.locator("#trades tbody tr").nth(5).waitFor();
  await page.locator("#positions tbody tr").nth(3).waitFor();

  const prices = () => page.locator("#quotes tbody").innerText();
  const before = await prices();
  await page.waitForFunction((old) => document.querySelector<HTMLElement>("#quotes tbody")!.innerText !== old, before);
  await page.waitForFunction(() => Number(document.querySelector("#rate")!.textContent) > 50);
  await page.waitForFunction(() => /^[\d,.]+$/.test(document.querySelector("#p99")!.textContent!));
  expect(number(await page.locator("#portfolio-total").innerText())).toBeGreaterThan(1000);
  const snapshot = await page.locator("#portfolio-note").innerText();
  await page.waitForFunction((old) => document.querySelector("#portfolio-note")!.textContent !== old, snapshot);

  await page.waitForFunction(() => /^\d+ B$/.test(document.querySelector("#frame-bytes")!.textContent!));
  expect(await page.locator("#frame-hex span").count()).toBe(number(await page.locator("#frame-bytes").innerText()));
  expect(await page.locator('#frame-hex [data-part="event"]').allInnerTexts()).toEqual(["d7", "7b", "88", "b2"]);
  expect(await coloursOf(page, "#chart")).toBeGreaterThan(20);
  expect(complaints).toEqual([]);
  expect(foreign).toEqual([]);
  await close();
});

test("chat goes both ways between two tabs", async () => {
  const [a, b] = await Promise.all([open(browser, demo.url), open(browser, demo.url)]);
  await Promise.all([connected(a.page), connected(b.page)]);
  const say = async (page: Page, text: string) => {
    await page.getByLabel("Message to the lobby").fill(text);
    await page.keyboard.press("Enter");
  };
  const text = `hello <b>& ünïcode 🙂 ${Date.now()}`;
  await say(a.page, text);
  const theirs = b.page.locator("#chat-log li", { hasText: text });
  await theirs.waitFor();
  expect(await theirs.innerText()).toContain("Visitor");
  const mine = a.page.locator("#chat-log li.mine", { hasText: text });
  await mine.waitFor();
  expect(await mine.innerText()).toMatch(/You · .* there and back in [\d.]+ ms/);
  const answer = `${text} too`;
  await say(b.page, answer);
  await a.page.locator("#chat-log li:not(.mine)", { hasText: answer }).waitFor();
  for (const tab of [a, b]) {
    expect(tab.complaints).toEqual([]);
    await tab.close();
  }
});

test("the command on the page reaches the chat", async () => {
  const { page, close } = await open(browser, demo.url);
  await connected(page);
  const command = await page.locator("#try-command").innerText();
  const [, url, body] = /^curl (\S+) --json '(.*)'$/.exec(command) ?? [];
  expect(url).toBe(`${demo.url}/api/publish`);
  const answer = await fetch(url!, { method: "POST", headers: { "content-type": "application/json" }, body: body! });
  expect(answer.status).toBe(200);
  await page.locator("#chat-log li", { hasText: "Hello from curl" }).waitFor();
  await close();
});

test("the reconnect button makes a new connection", async () => {
  const { page, complaints, close } = await open(browser, demo.url);
  await connected(page);
  const socket = page.waitForEvent("websocket");
  await page.getByRole("button", { name: "Reconnect" }).click();
  await socket;
  await connected(page);
  expect(complaints).toEqual([]);
  await close();
});

describe("accessibility", () => {
  test("names, roles and landmarks", async () => {
    const { page, close } = await open(browser, demo.url);
    await connected(page);
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("nova");
    for (const role of ["banner", "main", "status", "log"] as const) expect(await page.getByRole(role).count(), role).toBe(1);
    expect(await page.getByRole("status").innerText()).toBe("Connected");
    for (const name of ["Quotes", "Trades", "Portfolio", "Chat"]) {
      expect(await page.getByRole("region", { name }).count(), name).toBeGreaterThan(0);
    }
    expect(await page.getByRole("img", { name: /^Price/ }).count()).toBe(1);
    expect(await page.getByRole("button", { name: "Dark theme" }).getAttribute("aria-pressed")).toBe("false");
    const faults = await page.evaluate(() => {
      const found: string[] = [];
      const seen = new Set<string>();
      for (const e of document.querySelectorAll("[id]")) {
        if (seen.has(e.id)) found.push(`id ${e.id} twice`);
        seen.add(e.id);
      }
      for (const e of document.querySelectorAll("button")) {
        if ((e.getAttribute("aria-label") ?? e.textContent ?? "").trim() === "") found.push(`button without a name: ${e.outerHTML}`);
      }
      for (const e of document.querySelectorAll("input")) if (e.labels?.length === 0) found.push(`input without a label: ${e.outerHTML}`);
      for (const e of document.querySelectorAll("canvas")) {
        if (e.getAttribute("aria-hidden") !== "true" && !e.getAttribute("aria-label")) found.push(`canvas without a label: #${e.id}`);
      }
      return found;
    });
    expect(faults).toEqual([]);
    await close();
  });

  test("the keyboard reaches and selects symbols and points", async () => {
    const { page, close } = await open(browser, demo.url);
    await connected(page);
    await page.locator("#quotes tbody tr").nth(9).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the market");
    const first = page.locator("#quotes tbody button").first();
    await first.focus();
    expect(await first.evaluate((e) => getComputedStyle(e).outlineStyle)).toBe("solid");
    await page.keyboard.press("ArrowDown");
    const second = page.locator("#quotes tbody button").nth(1);
    expect(await second.getAttribute("aria-pressed")).toBe("true");
    const symbol = await second.innerText();
    expect(await page.locator("#chart-symbol").innerText()).toBe(symbol);
    await page.locator("#chart").focus();
    await page.keyboard.press("ArrowLeft");
    expect(await page.locator("#chart-at").textContent()).toMatch(/^\d\d:\d\d:\d\d: [\d,.]+$/);
    await close();
  });

  test("less motion and a chosen theme are respected", async () => {
    const { page, close } = await open(browser, demo.url, { reducedMotion: "reduce", colorScheme: "light" });
    await connected(page);
    await page.locator("#quotes tbody tr").nth(9).waitFor();
    const style = (selector: string, property: string) =>
      page.locator(selector).first().evaluate((e, p) => getComputedStyle(e).getPropertyValue(p), property);
    expect(await style("#quotes td span", "transition-duration")).toBe("0s");
    const light = await style("body", "background-color");
    await page.getByRole("button", { name: "Dark theme" }).click();
    const dark = await style("body", "background-color");
    expect(dark).not.toBe(light);
    await page.reload();
    expect(await style("body", "background-color")).toBe(dark);
    await close();
  });
});

describe.each([1440, 390])("at %d px", (width) => {
  test.each(["light", "dark"] as const)("%s", async (colorScheme) => {
    const { page, complaints, close } = await open(browser, demo.url, {
      viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme, deviceScaleFactor: width === 390 ? 2 : 1,
    });
    await connected(page);
    await page.locator("#positions tbody tr").nth(3).waitFor();
    await page.waitForFunction(() => /^[\d,.]+$/.test(document.querySelector("#p50")!.textContent!));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(wide, "px too wide").toBeLessThanOrEqual(0);
    await page.screenshot({ path: artifact(`market-${width}-${colorScheme}.png`), fullPage: true });
    expect(complaints).toEqual([]);
    await close();
  });
});
