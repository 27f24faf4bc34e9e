import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A file of the example with a week of earthquakes. */
export const seismic = (name: string): string => join(root, "examples/seismic", name);

/** Where a test leaves a file for people to look at. */
export function artifact(name: string): string {
  const dir = join(root, "artifacts");
  mkdirSync(dir, { recursive: true });
  return join(dir, name);
}
