import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

/** The browser of the machine; the tests bring none of their own. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

const args = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

/** Starts the browser with an empty profile. */
export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath, args });
}

/** A page and what it did that nobody wants. */
export interface Watched {
  page: Page;
  /** Errors and warnings of its console, and uncaught exceptions. */
  complaints: string[];
  /** Requests to other hosts. */
  foreign: string[];
  close(): Promise<void>;
}

/** Opens a page in a context of its own. */
export async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  const foreign: string[] = [];
  const host = new URL(url).host;
  const judge = (address: string) => {
    const { protocol, host: other } = new URL(address);
    if (protocol !== "data:" && protocol !== "blob:" && other !== host) foreign.push(address);
  };
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") complaints.push(m.text());
  });
  page.on("pageerror", (e) => complaints.push(String(e)));
  page.on("request", (r) => judge(r.url()));
  page.on("websocket", (s) => judge(s.url()));
  await page.goto(url);
  return { page, complaints, foreign, close: () => context.close() };
}

/** Waits until the pill says that the page is connected. */
export async function connected(page: Page): Promise<void> {
  await page.locator('#state[data-state="connected"]').waitFor();
}

/** How many different colours a canvas shows; 1 when it is blank. */
export function coloursOf(page: Page, selector: string): Promise<number> {
  return page.locator(selector).evaluate((e) => {
    const canvas = e as HTMLCanvasElement;
    const data = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data;
    return new Set(new Uint32Array(data.buffer)).size;
  });
}
