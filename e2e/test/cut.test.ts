import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connected, launch, open } from "../lib/browser.ts";
import { Demo } from "../lib/demo.ts";

let demo: Demo;
let browser: Browser;

beforeAll(async () => {
  [demo, browser] = await Promise.all([Demo.start(["--rate", "200"]), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const figure = async (page: Page, id: string) => Number((await page.locator(`#${id}`).innerText()).replace(/,/g, ""));
const more = (page: Page, id: string, than: number) =>
  page.waitForFunction(([id, than]) => Number(document.getElementById(id)!.textContent!.replace(/,/g, "")) > than, [id, than] as const);
const said = (page: Page, start: RegExp) =>
  page.waitForFunction((start) => new RegExp(start).test(document.getElementById("proof-said")!.textContent!), start.source);

test("what happened during a cut follows, by the keyboard too", async () => {
  const { page, complaints, close } = await open(browser, demo.url);
  await connected(page);
  await more(page, "proof-own", 20);
  expect(await figure(page, "proof-history")).toBeGreaterThan(0);

  const button = page.locator("#cut");
  await button.focus();
  await page.keyboard.press("Enter");
  await page.locator('#state[data-state="idle"]').waitFor();
  await more(page, "proof-missing", 5);
  const before = await figure(page, "proof-own");
  await more(page, "proof-missing", 25);
  expect(await figure(page, "proof-own")).toBe(before);
  expect(await button.innerText()).toMatch(/^Reconnect now \(\d s\)$/);

  await connected(page); // by itself, after 5 s
  await said(page, /^\d+ trades happened meanwhile\. All followed within [\d.,]+ ms of the reconnect, none twice\.$/);
  expect(await figure(page, "proof-missing")).toBe(0);
  expect(await figure(page, "proof-own")).toBeGreaterThan(before + 20);
  expect(await button.evaluate((e) => e === document.activeElement)).toBe(true);

  // A cut is ended early, and what was written meanwhile goes out once.
  await button.click();
  await page.locator('#state[data-state="idle"]').waitFor();
  await page.getByLabel("Message to the lobby").fill("said while cut");
  await page.keyboard.press("Enter");
  await button.click();
  await connected(page);
  await page.locator("#chat-log li.mine", { hasText: "said while cut" }).waitFor();
  await said(page, /All followed/);
  expect(await page.locator("#chat-log li", { hasText: "said while cut" }).count()).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

test("the feed is as fast as the page says", async () => {
  const { page, complaints, close } = await open(browser, demo.url);
  await connected(page);
  await page.getByRole("group", { name: "Events a second" }).getByLabel("4,000").check();
  await more(page, "rate", 1000);
  await page.getByRole("group", { name: "Events a second" }).getByLabel("40", { exact: true }).check();
  await page.waitForFunction(() => Number(document.querySelector("#rate")!.textContent!.replace(/,/g, "")) < 100);
  expect(complaints).toEqual([]);
  await close();
});
