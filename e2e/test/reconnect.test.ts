import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connected, launch, open } from "../lib/browser.ts";
import { Demo } from "../lib/demo.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());

test("the page comes back after the server restarted, with its topics", async () => {
  let demo = await Demo.start(["--rate", "100"]);
  const { port } = demo;
  const { page, complaints, close } = await open(browser, demo.url);
  try {
    await connected(page);
    await page.locator("#quotes tbody tr").nth(9).waitFor();
    await demo.stop();
    await page.locator('#state[data-state="reconnecting"]').waitFor();
    expect(await page.getByRole("status").innerText()).toBe("Reconnecting");
    const total = await page.locator("#frame-events").innerText();

    demo = await Demo.start(["--rate", "100", "--seed", "2"], port);
    await page.getByRole("button", { name: "Reconnect" }).click();
    await connected(page);
    await page.waitForFunction((old) => document.querySelector("#frame-events")!.textContent !== old, total);
    // The sessions went with the old server, and the page was told.
    await page.waitForFunction(() => document.querySelector("#proof-said")!.textContent!.startsWith("The server has begun anew"));
    // Chat works again without a new subscription by the visitor.
    await page.getByLabel("Message to the lobby").fill("still here");
    await page.keyboard.press("Enter");
    await page.locator("#chat-log li.mine", { hasText: "still here" }).waitFor();
    // The browser itself reports attempts that found no server; nothing else may be said.
    expect(complaints.filter((c) => !/^WebSocket connection to .* failed/.test(c))).toEqual([]);
  } finally {
    await close();
    await demo.stop();
  }
});
