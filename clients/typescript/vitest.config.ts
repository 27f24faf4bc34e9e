import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "@ignex/nova-client/iterate", replacement: src("iterate.ts") },
      { find: "@ignex/nova-client/react", replacement: src("react/index.ts") },
      { find: "@ignex/nova-client/testing", replacement: src("testing/index.ts") },
      { find: "@ignex/nova-client/auth", replacement: src("auth.ts") },
      { find: "@ignex/nova-client/batch", replacement: src("batch.ts") },
      { find: "@ignex/nova-client/calls", replacement: src("calls.ts") },
      { find: "@ignex/nova-client/wire", replacement: src("wire/index.ts") },
      { find: "@ignex/nova-client", replacement: src("index.ts") },
    ],
  },
  test: { include: ["test/**/*.test.{ts,tsx}"], testTimeout: 60_000 },
});
