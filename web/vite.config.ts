import { defineConfig } from "vitest/config";

const LICENCES = "/*! prismap. Contains regl-scatterplot, regl and others (MIT, ISC): web/public/LICENSES.txt */";

// One ES module with its style inside: the HTML file, the live explorer and the notebook widget all load this.
export default defineConfig({
  build: {
    outDir: "../src/prismap/explorer/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: "src/main.ts",
      preserveEntrySignatures: "strict",
      output: { format: "es", entryFileNames: "prismap.js", banner: LICENCES },
    },
  },
  test: { include: ["test/**/*.test.ts"] },
});
