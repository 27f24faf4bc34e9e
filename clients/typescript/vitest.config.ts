import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "@ignex/nova-client/wire", replacement: src("wire/index.ts") },
      { find: "@ignex/nova-client", replacement: src("index.ts") },
    ],
  },
  test: { include: ["src/**/*.test.ts", "test/**/*.test.ts"], testTimeout: 60_000 },
});
