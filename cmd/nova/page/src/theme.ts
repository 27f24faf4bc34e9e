import { byId } from "./dom.ts";

export type Theme = "light" | "dark";

const KEY = "nova-theme";

/** The theme chosen on this page before; undefined = as the system. */
export function storedTheme(): Theme | undefined {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined; // storage is refused
  }
}

/** Wires the theme button; changed is called whenever colours change. */
export function themeButton(changed: () => void): void {
  const button = byId<HTMLButtonElement>("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = storedTheme();
  const dark = () => (chosen === undefined ? system.matches : chosen === "dark");
  const show = () => {
    button.setAttribute("aria-pressed", String(dark()));
    changed();
  };
  button.addEventListener("click", () => {
    chosen = dark() ? "light" : "dark";
    document.documentElement.dataset["theme"] = chosen;
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // Storage is refused: the choice lasts until the page is left.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}
