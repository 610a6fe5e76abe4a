import { defineConfig } from 'vitest/config';

// The pages in a real browser, with the real program and real runs. One file after another: the machine has two cores.
export default defineConfig({
  test: {
    root: new URL('.', import.meta.url).pathname,
    include: ['*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // What comes later in a file looks at what came before.
    bail: 0,
    sequence: { shuffle: false },
  },
});
