import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { launch, open } from "../lib/browser.ts";
import { artifact, root } from "../lib/paths.ts";

let browser: Browser;
let dir: string;
let url: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "nova-docs-"));
  execFileSync(inject("nova"), ["docs", "--schema", join(root, "codegen/docs/testdata/shop/schema.json"), "--out", dir]);
  url = pathToFileURL(join(dir, "index.html")).href;
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  rmSync(dir, { recursive: true, force: true });
});

describe.each(["light", "dark"] as const)("the page of nova docs, %s", (colorScheme) => {
  test.each([390, 1440])("fits %i px, loads nothing, and complains of nothing", async (width) => {
    const w = await open(browser, url, { colorScheme, viewport: { width, height: 900 } });
    try {
      await w.page.locator("details.example").evaluateAll((all) => all.forEach((d) => d.setAttribute("open", "")));
      const over = await w.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(over).toBe(0);
      expect(w.complaints).toEqual([]);
      expect(w.foreign).toEqual([]);
      expect(await w.page.locator("h1").textContent()).toBe("shop");
      expect(await contrast(w.page.locator(".rules").first())).toBeGreaterThan(4.5);
      expect(await contrast(w.page.locator(".secret").first())).toBeGreaterThan(4.5);
      expect(await contrast(w.page.locator("main .type a").first())).toBeGreaterThan(4.5);
      await w.page.screenshot({ path: artifact(`docs-${colorScheme}-${width}.png`), fullPage: true });
    } finally {
      await w.close();
    }
  });
});

test("the keyboard reaches the content, and a link its type", async () => {
  const w = await open(browser, url);
  try {
    await w.page.keyboard.press("Tab");
    expect(await w.page.evaluate(() => document.activeElement?.className)).toBe("skip");
    await w.page.keyboard.press("Enter");
    expect(new URL(w.page.url()).hash).toBe("#main");
    const link = w.page.locator("#event-orderPlaced dd a", { hasText: "Payment" });
    await link.focus();
    await w.page.keyboard.press("Enter");
    expect(new URL(w.page.url()).hash).toBe("#type-Payment");
    expect(await w.page.locator("article:target h3").innerText()).toContain("Payment");
  } finally {
    await w.close();
  }
});

/** Contrast of an element's text with the page, by the formula of WCAG 2. */
function contrast(element: import("playwright-core").Locator): Promise<number> {
  return element.evaluate((e) => {
    const light = (colour: string) => {
      const [r, g, b] = colour.match(/[\d.]+/g)!.slice(0, 3).map((x) => {
        const v = Number(x) / 255;
        return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const a = light(getComputedStyle(e).color), b = light(getComputedStyle(document.body).backgroundColor);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
}
