import { defineConfig } from 'vitest/config';

// The pages in a real browser, with the real program and real runs.
export default defineConfig({
  test: {
    root: new URL('.', import.meta.url).pathname,
    include: ['*.test.ts'],
    globalSetup: ['global.ts'],
    // One file after another: they share a server, and each expects to be alone on it.
    fileParallelism: false,
    // In one process: the modules are loaded once. `setUp` gives each file a project and a page of its own.
    isolate: false,
    // Bounds for tests that hang. What a test waits for has bounds of its own, which say what is missing.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 90_000, interval: 50 } },
    // Later tests of a file use what earlier ones have made.
    bail: 0,
    sequence: { shuffle: false },
  },
});
