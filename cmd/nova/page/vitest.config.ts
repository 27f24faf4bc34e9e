import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const client = fileURLToPath(new URL("../../../clients/typescript/src/", import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@ignex\/nova-client\/wire$/, replacement: `${client}wire/index.ts` },
      { find: /^@ignex\/nova-client$/, replacement: `${client}index.ts` },
    ],
  },
  test: { include: ["test/**/*.test.ts"], testTimeout: 60_000 },
});
