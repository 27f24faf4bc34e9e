// Runs before the first paint, so that a chosen theme does not flash. A browser
// that refuses storage follows the system.
import { storedTheme } from "./theme.ts";

const theme = storedTheme();
if (theme !== undefined) document.documentElement.dataset["theme"] = theme;
