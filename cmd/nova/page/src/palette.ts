/** The page's colours as canvas can use them. */
export interface Palette {
  text: string;
  soft: string;
  line: string;
  lineStrong: string;
  card: string;
  sunk: string;
  accent: string;
  up: string;
  down: string;
  sans: string;
}

const names = {
  text: "--text",
  soft: "--soft",
  line: "--line",
  lineStrong: "--line-strong",
  card: "--card",
  sunk: "--sunk",
  accent: "--accent",
  up: "--up",
  down: "--down",
} as const;

/**
 * Reads the colours of the present theme. A probe element resolves them:
 * the custom properties themselves hold light-dark() pairs.
 */
export function readPalette(): Palette {
  const probe = document.createElement("span");
  document.body.append(probe);
  const style = getComputedStyle(probe);
  const palette = { sans: style.getPropertyValue("--sans") } as Palette;
  for (const [key, variable] of Object.entries(names) as [keyof typeof names, string][]) {
    probe.style.color = `var(${variable})`;
    palette[key] = style.color;
  }
  probe.remove();
  return palette;
}

const faded = new Map<string, string>();

/**
 * The same colour with another opacity, 0.01 to 1. Not 0: that would be
 * transparent black, and gradients would pass through grey.
 */
export function fade(color: string, alpha: number): string {
  const key = `${alpha} ${color}`;
  const known = faded.get(key);
  if (known !== undefined) return known;
  const made = `color-mix(in srgb, ${color} ${Math.max(1, Math.round(alpha * 100))}%, transparent)`;
  if (faded.size > 500) faded.clear();
  faded.set(key, made);
  return made;
}
