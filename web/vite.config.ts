import { defineConfig } from "vitest/config";

// One ES module with its style inside: the HTML file, the live explorer and the notebook widget all load this.
export default defineConfig({
  build: {
    outDir: "../src/prismap/page/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: "src/main.ts",
      preserveEntrySignatures: "strict",
      output: { format: "es", entryFileNames: "prismap.js" },
    },
  },
  test: { include: ["test/**/*.test.ts"] },
});
