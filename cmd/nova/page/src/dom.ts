/** The element with that id. The pages are static, so a missing one is a fault of the page. */
export function byId<E extends Element = HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element #${id}`);
  return found as unknown as E;
}

/** Makes an element with text. Text is never parsed as HTML. */
export function make<K extends keyof HTMLElementTagNameMap>(tag: K, text = "", className = ""): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (text !== "") e.textContent = text;
  if (className !== "") e.className = className;
  return e;
}

/** Sets an element's text, leaving the page alone when it already says so. */
export function say(e: Element, text: string): void {
  if (e.textContent !== text) e.textContent = text;
}

/** A value the server wrote into the page's head: `<meta name="nova:NAME">`. */
export function setting(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="nova:${name}"]`)?.content;
}

/** Address of the socket: beside the page unless the server says otherwise. */
export function socketURL(): string {
  const url = new URL(setting("socket") ?? "ws", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}
