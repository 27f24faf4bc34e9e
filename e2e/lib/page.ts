import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";

/** How a page differs from its sources. */
export interface PageOptions {
  /** Replacements in the sources of the client, by text. */
  instead?: readonly (readonly [text: string, by: string])[];
}

/**
 * Opens the page of the server at address, which takes sockets from its own origin
 * only, with a script of the folder page.
 */
export async function open(browser: Browser, address: string, script: string, { instead = [] }: PageOptions = {}): Promise<Page> {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL(`../page/${script}.ts`, import.meta.url))],
    tsconfig: fileURLToPath(new URL("../tsconfig.json", import.meta.url)),
    bundle: true, format: "esm", target: "es2022", write: false,
  });
  let body = bundle.outputFiles[0]!.text;
  for (const [text, by] of instead) {
    if (!body.includes(text)) throw new Error(`the script has no ${text}`);
    body = body.replaceAll(text, by);
  }
  const context = await browser.newContext();
  const url = address.replace("ws", "http").replace(/\/ws$/, "/");
  await context.route(`${url}script.js`, (route) => route.fulfill({ contentType: "text/javascript", body }));
  const page = await context.newPage();
  await page.goto(url);
  return page;
}
