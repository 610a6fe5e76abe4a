import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The server that a developer runs beside `npm run dev`: a real `agentos serve`, or `node dev/mock.mjs`.
const server = process.env.AGENTOS_URL ?? 'http://127.0.0.1:3456';

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    // Everything that is loaded later (Markdown, the diff parser) has a hashed name of its own.
    assetsDir: 'assets',
    // A data: URL for a script or a font would be refused by the page's own policy.
    assetsInlineLimit: 0,
    // The polyfill is an inline script in some browsers; all that we support know modulepreload.
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  server: {
    proxy: {
      '/api': { target: server, changeOrigin: true },
      '/ws': { target: server, ws: true, changeOrigin: true },
    },
  },
  test: { include: ['test/unit/**/*.test.ts'], environment: 'node' },
});
