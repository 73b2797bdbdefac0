import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

// No module has state of its own, so the files of a worker share them: loading them costs more than most tests.
const isolate = false;

/** For tests that need no machine of their own. */
const shared = {
  isolate,
  maxWorkers: availableParallelism(),
  // For a test that hangs, not for one that is slow on a busy machine.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  globalSetup: ['test/support/own-temporary-folder.ts'],
};

/** For tests of the program on a real containerd. A test waits several times, each for at most five minutes. */
const onContainerd = { isolate, globalSetup: ['test/e2e/global-setup.ts'], testTimeout: 900_000, hookTimeout: 900_000 };

/** Tests that measure the machine, look at all of it, or use it as it is. */
const alone = ['busy-screen', 'many-remains', 'memory', 'network', 'siege'].map((name) => `test/e2e/${name}.test.ts`);

export default defineConfig({
  test: {
    // The same for a worker that stops.
    teardownTimeout: 120_000,
    reporters: ['default', './test/support/summary-reporter.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
          exclude: ['test/e2e/**', 'test/component/**'],
          ...shared,
          // It imports JSON in a way that Node refuses and Vite accepts.
          server: { deps: { inline: ['@actions/workflow-parser'] } },
        },
      },
      { extends: true, test: { name: 'component', include: ['test/component/**/*.test.ts'], ...shared } },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: alone,
          ...onContainerd,
          // Each test waits for its containers a third of the time.
          maxWorkers: availableParallelism() + 1,
          // After the tests without a runtime, which use all cores.
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'e2e-alone', include: alone, ...onContainerd, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
